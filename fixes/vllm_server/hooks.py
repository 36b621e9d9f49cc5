"""Which modules of the patient are waited for, and what is done to each once it is loaded.

Imports nothing at once but what every Python has loaded anyway: it runs in all children of the server.
"""

from __future__ import annotations

import os
from types import ModuleType


def started(root: str) -> None:
    """Leave a sign that the start-up hook runs in the server; without it the doctor knows that it could not attach."""
    marker = os.path.join(root, "attached")  # noqa: PTH118 - pathlib costs each start of Python 5 ms
    if not os.path.exists(marker):  # noqa: PTH110
        os.close(os.open(marker, os.O_CREAT | os.O_WRONLY, 0o644))


def loaded(name: str, module: ModuleType) -> None:
    """Change the module that was just loaded."""
    AWAITED[name](module)


def _launcher(module: ModuleType) -> None:
    from doctor.fixes.vllm_server.death import ended
    from doctor.fixes.vllm_server.state import mended

    module.serve_http = mended(ended(module.serve_http))  # type: ignore[attr-defined]


def _config(module: ModuleType) -> None:
    from doctor.fixes.vllm_server.guard import guarded

    module.Config.load = guarded(module.Config.load)


def _server(module: ModuleType) -> None:
    from doctor.fixes.vllm_server.death import bounded, telling
    from doctor.fixes.vllm_server.drain import announced

    module.Server.startup = announced(module.Server.startup)
    module.Server.shutdown = bounded(module.Server.shutdown)
    module.Server.run = telling(module.Server.run)


def _process(module: ModuleType) -> None:
    from doctor.fixes.vllm_server import processes

    module.BaseProcess._bootstrap = processes.watched(module.BaseProcess._bootstrap)  # noqa: SLF001
    module.BaseProcess.start = processes.remembered(module.BaseProcess.start)


#: `vllm.entrypoints.launcher` was renamed in 0.29.0; uvicorn is what vLLM's and TRL's servers have in common
AWAITED = {
    "vllm.entrypoints.launcher": _launcher,
    "vllm.entrypoints.launchers.launcher": _launcher,
    "uvicorn.config": _config,
    "uvicorn.server": _server,
    "multiprocessing.process": _process,
}

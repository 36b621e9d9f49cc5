"""Which server of the installed vLLM or TRL is started, and by what words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from doctor.base.evidence import Observed
from doctor.base.record import record
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Packages

Mode = Literal["demo", "openai", "trl"]

DEMO = "vllm.entrypoints.api_server"

#: as a person types it: tells which interpreter is meant
TYPED: Mapping[Mode, tuple[str, ...]] = {
    "demo": ("python", "-m", DEMO),
    "openai": ("vllm", "serve"),
    "trl": ("trl", "vllm-serve"),
}

#: defects of the demo server that the server's own interpreter is spared, and where it is gone
MENDED = ("VLL001", "VLL002", "VLL003", "VLL004")


class NoServer(Exception):  # noqa: N818 - the message tells the user what is missing
    """The environment holds no such server."""


@record
class Server:
    """What is started.

    Args:
        argv: the command without the user's arguments.
        judged: the command that the checks know; another one where the doctor's own server takes the demo's place.
        own: the doctor's own server takes the demo server's place.

    """

    argv: tuple[str, ...]
    judged: tuple[str, ...]
    own: bool = False


def server_of(mode: Mode, states: Mapping[str, Observed]) -> Server:
    """The command, from what is installed.

    Raises:
        NoServer: there is no interpreter, no vLLM or no TRL with a server.

    """
    interpreter: Interpreter = _value(states, "interpreter")
    packages: Packages = _value(states, "packages")
    python = interpreter.executable
    vllm = _folder(packages, "vllm", python)
    if mode == "demo":
        judged = (python, "-m", DEMO)
        if (vllm / "entrypoints" / "api_server.py").is_file():
            return Server(judged, judged)
        return Server((python, "-m", "doctor.fixes.vllm_server.server"), judged, own=True)
    if mode == "openai":
        new = (vllm / "entrypoints" / "cli" / "main.py").is_file()
        words = (python, "-m", "vllm.entrypoints.cli.main" if new else "vllm.scripts", "serve")
        return Server(words, words)
    if not (_folder(packages, "trl", python) / "scripts" / "vllm_serve.py").is_file():
        raise NoServer(f"TRL {packages.version('trl')} has no `vllm-serve`: it came with 0.16.0")
    script = (python, "-m", "trl.scripts.vllm_serve")
    return Server(script, script)


def _value(states: Mapping[str, Observed], name: str) -> Any:
    state = states[name]
    if state.status != "ok":
        raise NoServer(state.reason)
    return state.value


def _folder(packages: Packages, name: str, python: str) -> Path:
    """Folder of a package that `import` would take."""
    found = packages.modules.get(name)
    if found is None or name in packages.namespaces:
        raise NoServer(f"`{name}` is not installed for {python}; name the interpreter that has it with --python")
    return Path(found).parent if found.endswith(".py") else Path(found)

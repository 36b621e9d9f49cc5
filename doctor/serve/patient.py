"""Lays what runs inside the server's interpreter into the run folder, and the variables that make it run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from doctor.fixes import vllm_server
from doctor.fixes.vllm_server import settings
from doctor.readers.patient.carry import carry, lay_hook

#: folder of the run folder; `attached` in it is made by the start-up hook
FOLDER = "patient"
ATTACHED = "attached"


def lay(run: Path) -> Path:
    """Make `<run>/patient` with the start-up hook and the modules that it needs.

    Raises:
        OSError: it cannot be written.

    """
    folder = run / FOLDER
    carry(["doctor.fixes.vllm_server"], folder / "lib")
    lay_hook(Path(vllm_server.__path__[0]) / "sitecustomize.py", folder / "site")
    return folder


def variables(folder: Path | str, chosen: settings.ServerBounds, environ: Mapping[str, str]) -> dict[str, str]:
    """What the server's environment gets besides the user's."""
    before = environ.get("PYTHONPATH")
    site = os.path.join(folder, "site")  # noqa: PTH118 - a placeholder where nothing is started
    return {"PYTHONPATH": f"{site}{os.pathsep}{before}" if before else site, settings.VARIABLE: chosen.dump()}

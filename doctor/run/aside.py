"""The last notes of a run whose own folder cannot take them: a quota, a failing device, a server that has gone.

They are kept in this process, whose post-mortem comes next, and under the user's state folder for a later one: the run
folder itself may well be readable again by then.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Optional

from doctor.base.redact import redact
from doctor.base.state import state_folder
from doctor.run.folder import RunDir

_NAME = "run.json"
_KEPT: dict[Path, dict[str, Any]] = {}


def keep(run: RunDir, values: dict[str, Any]) -> None:
    """Keep what `run.json` should hold, without secrets."""
    plain = {name: redact(value, homes=False) for name, value in values.items()}
    _KEPT[run.path] = plain
    with suppress(OSError):
        folder = state_folder(run.path)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = folder / f".{_NAME}.{os.getpid()}"
        made.write_text(json.dumps(plain), "utf-8")
        made.replace(folder / _NAME)


def noted(run: RunDir) -> dict[str, Any]:
    """What `run.json` holds; where it lacks the end of the run, with what was kept aside of the same run."""
    told = run.read_run()
    if "exit" in told:
        return told
    path = run.path.absolute()
    kept = _KEPT.get(path) or _kept(path)
    same = kept is not None and kept.get("started_ns") == told.get("started_ns", kept.get("started_ns"))
    return {**told, **kept} if kept is not None and same else told


def place_of(run: RunDir, name: str) -> Path:
    """The file that tells this value of `noted`; the run folder where it lies aside."""
    return run.run_json if name in run.read_run() else run.path


def _kept(path: Path) -> Optional[dict[str, Any]]:
    aside = RunDir(state_folder(path)).read_run()
    return aside if "exit" in aside else None

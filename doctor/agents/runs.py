"""Run folders as an agent sees them: which there are, how each ended, and the last lines it printed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from doctor.agents.roots import Roots
from doctor.base.redact import redact_lines
from doctor.render.brief import quoted
from doctor.run.folder import RUNS, RunDir

#: runs that are listed, lines of the console that are shown, and how much of its end is read for them
MOST, LINES, _TAIL_BYTES = 20, 40, 64 << 10
#: a run whose files have not changed for so long, and that noted no end, was killed together with the doctor
_QUIET_S = 120.0


def folders(roots: Roots) -> Iterator[Path]:
    """Run folders below the roots, the newest first; a link that leads out is none."""
    found = [
        each
        for top in roots.folders
        for each in ((top / RUNS).iterdir() if (top / RUNS).is_dir() else ())
        if each.is_dir() and not each.is_symlink() and roots.holds(each.resolve())
    ]
    yield from sorted(found, key=lambda each: each.name, reverse=True)


def named(roots: Roots, name: str) -> Path | None:
    """The run folder of that name; None where there is none."""
    return next((each for each in folders(roots) if each.name == name), None)


def state_of(folder: Path, roots: Roots) -> dict[str, Any]:
    """What is noted of a run: `state` is `ended`, `stopped` (by the guard), `running`, or `unknown` (no end noted)."""
    noted = RunDir(folder).read_run()
    began, ended = noted.get("started_ns"), noted.get("ended_ns")
    stop = noted.get("stopped")
    seconds = round((ended - began) / 1e9, 1) if isinstance(began, int) and isinstance(ended, int) else None
    return {
        "name": folder.name,
        "path": _shown(folder, roots),
        "state": _state(folder, ended=ended is not None, stopped=bool(stop)),
        "exit": noted.get("exit"),
        "argv": noted.get("argv", []),
        "seconds": seconds,
        "stopped_by": stop.get("id") if isinstance(stop, dict) else None,
        "holds": sorted(each.name for each in folder.iterdir() if not each.name.startswith(".")),
    }


def console_tail(folder: Path, roots: Roots) -> str:
    """The last lines that the run printed, marked as data; empty where nothing was kept."""
    path = RunDir(folder).console
    with suppress(OSError):
        if not roots.holds(path.resolve(strict=True)):
            return ""
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - _TAIL_BYTES, 0))
            text = file.read().decode("utf-8", "replace")
        lines = redact_lines(text.splitlines())[-LINES:]
        return quoted("\n".join(lines), _shown(path, roots))
    return ""


def _state(folder: Path, *, ended: bool, stopped: bool) -> str:
    if stopped:
        return "stopped"
    if ended:
        return "ended"
    newest = max((each.stat().st_mtime for each in folder.rglob("*") if each.is_file()), default=0.0)
    return "running" if time.time() - newest < _QUIET_S else "unknown"


def _shown(path: Path, roots: Roots) -> str:
    """Relative to the folder that commands run in, where it lies below."""
    return str(path.relative_to(roots.first)) if roots.first in path.parents else str(path)

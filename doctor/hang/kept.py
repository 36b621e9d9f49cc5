"""The looks that were kept in a run folder: `hangs/<host>-<time>.json`, beside the capsules of each."""

from __future__ import annotations

import time
from pathlib import Path

from doctor.base.json_text import json_text
from doctor.hang import members, told
from doctor.hang.look import Hang, look
from doctor.mend.processes.table import everybody
from doctor.monitors.capsule.write import HANGS
from doctor.run.folder import host_name


def stamp() -> str:
    """Name of a look: this machine and the time."""
    return f"{host_name()}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"


def keep(hang: Hang, run: Path, to: str) -> Path:
    """Write a look into the run folder; gives its file.

    Raises:
        OSError: it cannot be written.

    """
    path = run / HANGS / f"{to}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_suffix(".part")
    made.write_text(json_text(told.as_data(hang), indent=1) + "\n", encoding="utf-8")
    made.replace(path)
    return path


def look_at(run: Path) -> Path | None:
    """Look at a run and keep it; None where no process of it is left.

    Raises:
        OSError: it cannot be written.

    """
    found = members.of_folder(run, everybody())
    if not found:
        return None
    to = stamp()
    return keep(look(found, run, to), run, to)

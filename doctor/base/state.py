"""What the doctor remembers between commands, under the user's state folder, keyed by working directory."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from doctor.base.whole_file import write_whole


def state_folder(cwd: Path) -> Path:
    """Folder for one working directory: ``$XDG_STATE_HOME/grpo-doctor/<hash>``."""
    root = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return root / "grpo-doctor" / hashlib.sha256(os.fsencode(cwd)).hexdigest()[:16]


def keep_last(command: str, cwd: Path, report: dict[str, Any]) -> None:
    """Keep a report as the last one of `command` here, by rename.

    Raises:
        OSError: the state folder cannot be written.

    """
    folder = state_folder(cwd)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_whole(folder / f"{command}.json", json.dumps(report))


def read_last(command: str, cwd: Path) -> dict[str, Any] | None:
    """The last report of `command` in this working directory, None when there is none or it cannot be read."""
    try:
        data = json.loads((state_folder(cwd) / f"{command}.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and _is_whole(data.get("findings")) else None


def read_newest(commands: tuple[str, ...], cwd: Path) -> dict[str, Any] | None:
    """The report of these commands that was kept last in this working directory, None where none can be read."""
    kept = [(state_folder(cwd) / f"{each}.json", each) for each in commands]
    there = sorted(((path.stat().st_mtime_ns, each) for path, each in kept if path.is_file()), reverse=True)
    return next((report for _, each in there if (report := read_last(each, cwd))), None)


def _is_whole(findings: Any) -> bool:
    """Whether findings have what is asked of them; a damaged report is none."""
    return isinstance(findings, list) and all(
        isinstance(each, dict)
        and all(isinstance(each.get(name), str) for name in ("id", "name", "headline"))
        and isinstance(each.get("remedy"), dict)
        and isinstance(each["remedy"].get("fix"), (str, type(None)))
        and isinstance(each.get("where", {}), dict)
        for each in findings
    )

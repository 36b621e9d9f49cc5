"""Applies plans so that nothing half-done survives: backup, journal, change, in this order, and all of it back again.

One folder a plan, `$XDG_STATE_HOME/grpo-doctor/<working directory>/journal/<time>-<problem>/`, with `journal.json` and
the content of each file before. Every write is by rename and reaches the disk before the next begins, so that a
process killed between any two of them leaves what `recover` can take back.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doctor.core.plan import Plan, Refused, Run, digest, read_or_none
from doctor.core.state import state_folder

SCHEMA = "doctor-journal/1"
BEGUN, DONE, UNDONE, ABANDONED = "begun", "done", "undone", "abandoned"


@dataclass
class Entry:
    """A plan that was begun: its folder and what stands in `journal.json`."""

    folder: Path
    data: dict[str, Any]

    @property
    def problem(self) -> str:
        """Id of the problem that was mended."""
        return str(self.data["plan"]["problem"])

    @property
    def state(self) -> str:
        """`begun` (not finished), `done`, `undone`, or `abandoned` (interrupted, and nothing takes it back)."""
        return str(self.data["state"])

    @property
    def steps(self) -> list[dict[str, Any]]:
        """What became of each step that was begun, in order."""
        steps: list[dict[str, Any]] = self.data["steps"]
        return steps

    def keep(self) -> None:
        """Write `journal.json`; it is on the disk when this returns."""
        _write(self.folder / "journal.json", json.dumps(self.data, indent=1).encode(), 0o600)


@contextmanager
def locked() -> Iterator[None]:
    """Keep other doctors of this user from mending at the same time.

    Raises:
        Refused: one does.
        OSError: the state folder cannot be written.

    """
    root = state_folder(Path.cwd()).parent
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (root / "fix.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            msg = "another `doctor fix` is at work; nothing was changed"
            raise Refused(msg) from None
        yield


def entries(cwd: Path) -> list[Entry]:
    """Every plan that was begun in a working directory, oldest first; what cannot be read is left out."""
    found = []
    for path in sorted((state_folder(cwd) / "journal").glob("*/journal.json")):
        with suppress(OSError, ValueError):
            data = json.loads(path.read_bytes())
            if data.get("schema") == SCHEMA:
                found.append(Entry(path.parent, data))
    return found


def apply(plan: Plan, cwd: Path) -> Entry:
    """Do every step of a plan, in order; when one fails, those before it are taken back.

    Raises:
        Refused: a step does not fit what is there, or failed; everything is as it was.
        OSError: journal or backup cannot be written; everything is as it was.

    """
    for step in plan.steps:
        if not isinstance(step, Run):
            _refuse_unwritable(os.path.realpath(step.path))
    folder = state_folder(cwd) / "journal" / f"{time.time_ns()}-{plan.problem}"
    folder.mkdir(parents=True, mode=0o700)
    head = {"schema": SCHEMA, "state": BEGUN, "started_ns": time.time_ns(), "cwd": str(cwd), "plan": plan.as_dict()}
    entry = Entry(folder, {**head, "steps": []})
    entry.keep()
    try:
        for number, step in enumerate(plan.steps):
            if isinstance(step, Run):
                _run(entry, step)
            else:
                path = os.path.realpath(step.path)
                before = read_or_none(path)
                _change(entry, number, path, before, step.content(before))
    except (Refused, OSError):
        _take_back(entry)
        raise
    entry.data["state"] = DONE
    entry.keep()
    return entry


def undo(entry: Entry) -> None:
    """Take a plan back, last step first; files become what they were byte for byte.

    Raises:
        Refused: a file was changed since, a backup is missing, or a command cannot be taken back; nothing was changed.

    """
    for record in entry.steps:
        if record["state"] != UNDONE:
            _refuse_lost(entry, record)
    _take_back(entry)


def recover(cwd: Path) -> list[Entry]:
    """Take back what a killed doctor left half-done in a working directory.

    Raises:
        Refused: a file of it was changed since by someone else, or a command was interrupted that nothing takes back;
            of the latter this is said once.

    """
    unfinished = [each for each in entries(cwd) if each.state == BEGUN]
    for entry in unfinished:
        interrupted = next((each for each in entry.steps if _cut_off_for_good(each)), None)
        if interrupted is not None:
            entry.data["state"] = ABANDONED
            entry.keep()
            msg = f"`{' '.join(interrupted['argv'])}` was interrupted and cannot be taken back; see what it left"
            raise Refused(msg)
        undo(entry)
    return unfinished


def _cut_off_for_good(record: dict[str, Any]) -> bool:
    return record["kind"] == "run" and record["undo_argv"] is None and record["state"] == BEGUN


def _refuse_unwritable(path: str) -> None:
    folder = os.path.dirname(path) or "."  # noqa: PTH120 - as text, like the path
    if os.path.lexists(path) and not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
        msg = f"`{path}` is no regular file"
        raise Refused(msg)
    for each in (path, folder):
        if os.path.exists(each) and not os.access(each, os.W_OK):  # noqa: PTH110
            msg = f"`{each}` cannot be written by this user"
            raise Refused(msg)


def _change(entry: Entry, number: int, path: str, before: bytes | None, after: bytes) -> None:
    """Backup, journal, then the file itself by rename."""
    mode = 0o644 if before is None else stat.S_IMODE(os.stat(path).st_mode)  # noqa: PTH116
    backup = entry.folder / f"{number}.before"
    if before is not None:
        _write(backup, before, 0o600)
    temporary = f"{path}.doctor-{os.getpid()}.tmp"
    record = {
        "kind": "file", "state": BEGUN, "path": path, "mode": mode, "temporary": temporary,
        "before": digest(before), "after": digest(after), "backup": backup.name,
    }  # fmt: skip
    entry.steps.append(record)
    entry.keep()
    _write(Path(path), after, mode, Path(temporary))
    record["state"] = DONE
    entry.keep()


def _run(entry: Entry, step: Run) -> None:
    record: dict[str, Any] = {"kind": "run", "state": BEGUN, "argv": step.argv, "undo_argv": step.undo_argv}
    entry.steps.append(record)
    entry.keep()
    _execute(step.argv)
    record["state"] = DONE
    entry.keep()


def _execute(argv: Any) -> None:
    try:
        code = subprocess.run(list(argv), check=False, stdin=subprocess.DEVNULL).returncode
    except OSError as exc:
        msg = f"`{argv[0]}` cannot be started: {exc.strerror}"
        raise Refused(msg) from None
    if code:
        msg = f"`{' '.join(argv)}` ended with exit code {code}"
        raise Refused(msg)


def _refuse_lost(entry: Entry, record: dict[str, Any]) -> None:
    """Nothing is taken back unless all of it can be."""
    if record["kind"] == "run":
        if record["undo_argv"] is None and record["state"] == DONE:
            msg = f"`{' '.join(record['argv'])}` cannot be taken back"
            raise Refused(msg)
        return
    same = [each for each in entry.steps if each.get("path") == record["path"]]
    if digest(read_or_none(record["path"])) not in {each[key] for each in same for key in ("before", "after")}:
        msg = f"`{record['path']}` was changed since; its former content is in `{entry.folder / record['backup']}`"
        raise Refused(msg)
    if record["before"] and digest(read_or_none(str(entry.folder / record["backup"]))) != record["before"]:
        msg = f"the backup of `{record['path']}` is missing or damaged"
        raise Refused(msg)


def _take_back(entry: Entry) -> None:
    for record in reversed(entry.steps):
        if record["state"] == UNDONE:
            continue
        if record["kind"] == "run":
            if record["undo_argv"] is not None:
                _execute(record["undo_argv"])
        else:
            _restore(entry, record)
        record["state"] = UNDONE
        entry.keep()
    entry.data["state"] = UNDONE
    entry.keep()


def _restore(entry: Entry, record: dict[str, Any]) -> None:
    path = Path(record["path"])
    Path(record["temporary"]).unlink(missing_ok=True)
    if digest(read_or_none(str(path))) == record["before"]:
        return
    if not record["before"]:
        path.unlink(missing_ok=True)
        return
    _write(path, (entry.folder / record["backup"]).read_bytes(), record["mode"], Path(record["temporary"]))


def _write(path: Path, content: bytes, mode: int, temporary: Path | None = None) -> None:
    """Make a file by rename, in its own folder, with its owner where there was one; on the disk when this returns."""
    temporary = temporary or path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with temporary.open("wb") as out:
        out.write(content)
        out.flush()
        os.fchmod(out.fileno(), mode)
        with suppress(OSError):  # only root may give a file away
            owner = path.stat()
            os.fchown(out.fileno(), owner.st_uid, owner.st_gid)
        os.fsync(out.fileno())
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

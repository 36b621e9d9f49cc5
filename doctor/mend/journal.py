"""Applies plans so that nothing half-done survives: backup, journal, change, in this order, and all of it back again.

One folder a plan, `$XDG_STATE_HOME/grpo-doctor/<working directory>/journal/<time>-<problem>/`, with `journal.json` and
the content of each file before. Every write is by rename and reaches the disk before the next begins, so that a
process killed between any two of them leaves what `recover` can take back. A file with several names (hard links) is
written in place instead, unless the step wants a copy of its own.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doctor.base.state import state_folder
from doctor.base.whole_file import named
from doctor.catalogue.plan import Contents, EditFile, Plan, Refused, Run, digest, read_or_none
from doctor.mend import swap
from doctor.mend.journal_form import ABANDONED, BEGUN, DONE, SCHEMA, UNDONE, is_whole


@dataclass
class JournalEntry:
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

    @property
    def group(self) -> str | None:
        """What the plan was carried out together with (`doctor fix --all`), None for one alone."""
        group = self.data.get("group")
        return str(group) if group else None

    @property
    def paths(self) -> frozenset[str]:
        """Files that it changed and that were not taken back."""
        return frozenset(each["path"] for each in self.steps if each["kind"] == "file" and each["state"] != UNDONE)

    def keep(self) -> None:
        """Write `journal.json`; it is on the disk when this returns."""
        _write(self.folder / "journal.json", json.dumps(self.data, indent=1).encode(), 0o600)


@contextmanager
def locked() -> Iterator[None]:
    """Keep other doctors from mending at the same time: those of this user anywhere, those of others in this folder.

    Held over check, plan and apply, so that the plan is made and carried out for one and the same content.

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
            msg = "another `doctor fix` is running; nothing was changed"
            raise Refused(msg) from None
        with swap.folders_locked([Path.cwd()]):
            yield


def entries(cwd: Path) -> list[JournalEntry]:
    """Every plan that was begun in a working directory, oldest first; what cannot be read is left out."""
    found = []
    for path in sorted((state_folder(cwd) / "journal").glob("*/journal.json")):
        with suppress(OSError, ValueError, RecursionError):
            data = json.loads(path.read_bytes())
            if is_whole(data):
                found.append(JournalEntry(path.parent, data))
    return found


def apply(plan: Plan, cwd: Path, made: Contents | None = None, group: str | None = None) -> JournalEntry:
    """Do every step of a plan, in order; when one fails, those before it are taken back.

    Args:
        plan: what is done.
        cwd: the working directory that it is remembered for.
        made: what was shown: real path -> content before and after; another content is refused.
        group: see Entry.group.

    Raises:
        Refused: a step does not fit what is there, or failed; everything is as it was.
        OSError: journal or backup cannot be written; everything is as it was.

    """
    paths = {os.path.realpath(step.path) for step in plan.steps if not isinstance(step, Run)}
    for path in paths:
        _refuse_unwritable(path)
        if made is not None and (path not in made or digest(read_or_none(path)) != digest(made[path].before)):
            msg = f"`{path}` has changed since the plan was shown"
            raise Refused(msg)
    others = {Path(path).parent for path in paths} - {Path.cwd().resolve()}
    with swap.folders_locked(each for each in others if each.is_dir()):
        return _apply(plan, cwd, group)


def _apply(plan: Plan, cwd: Path, group: str | None) -> JournalEntry:
    now = time.time_ns()
    folder = state_folder(cwd) / "journal" / f"{now}-{plan.problem.replace('/', '.')}"
    folder.mkdir(parents=True, mode=0o700)
    head = {"schema": SCHEMA, "state": BEGUN, "started_ns": now, "cwd": str(cwd), "plan": plan.as_dict()}
    entry = JournalEntry(folder, {**head, "group": group, "steps": []})
    entry.keep()
    try:
        for number, step in enumerate(plan.steps):
            if isinstance(step, Run):
                _run(entry, step)
            else:
                path = os.path.realpath(step.path)
                before = read_or_none(path)
                through = not (isinstance(step, EditFile) and step.own_copy) and _has_other_names(path)
                _change(entry, number, path, before, step.content(before), in_place=through)
    except (Refused, OSError):
        _take_back(entry)
        raise
    entry.data["state"] = DONE
    entry.keep()
    return entry


def undo(entry: JournalEntry) -> None:
    """Take a plan back, last step first; files become what they were byte for byte.

    Raises:
        Refused: a file was changed since, a backup is missing, or a command cannot be undone; nothing was changed.

    """
    undo_all([entry])


def undo_all(newest_first: Iterable[JournalEntry]) -> None:
    """Take several plans back, the newest first; all of them or none.

    Raises:
        Refused: a file was changed since, a backup is missing, or a command cannot be undone; nothing was changed.

    """
    entries = list(newest_first)
    contents: dict[str, str] = {}
    for entry in entries:
        for record in entry.steps:
            if record["state"] != UNDONE:
                _refuse_lost(entry, record, contents)
        for record in reversed(entry.steps):
            if record["kind"] == "file" and record["state"] != UNDONE:
                contents[record["path"]] = record["before"]
    for entry in entries:
        _take_back(entry)


def standing_on(entries: Iterable[JournalEntry], everything: Iterable[JournalEntry]) -> list[JournalEntry]:
    """The plans to be taken back with some, newest first: themselves, and those that changed their files later."""
    wanted = {entry.folder for entry in entries}
    paths: set[str] = set()
    for entry in everything:  # oldest first
        if entry.state in (BEGUN, DONE) and (entry.folder in wanted or entry.paths & paths):
            wanted.add(entry.folder)
            paths |= entry.paths
    return [entry for entry in reversed(list(everything)) if entry.folder in wanted]


def recover(cwd: Path) -> list[JournalEntry]:
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
            msg = f"`{' '.join(interrupted['argv'])}` was interrupted and cannot be undone; check what it left behind"
            raise Refused(msg)
        undo(entry)
    return unfinished


def _cut_off_for_good(record: dict[str, Any]) -> bool:
    return record["kind"] == "run" and record["undo_argv"] is None and record["state"] == BEGUN


def _refuse_unwritable(path: str) -> None:
    folder = os.path.dirname(path) or "."  # noqa: PTH120 - as text, like the path
    if os.path.lexists(path) and not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
        msg = f"`{path}` is not a regular file"
        raise Refused(msg)
    for each in (path, folder):
        if os.path.exists(each) and not os.access(each, os.W_OK):  # noqa: PTH110
            msg = f"`{each}` cannot be written by this user"
            raise Refused(msg)


def _has_other_names(path: str) -> bool:
    return os.path.lexists(path) and os.stat(path).st_nlink > 1  # noqa: PTH116


def _change(entry: JournalEntry, number: int, path: str, before: bytes | None, after: bytes, *, in_place: bool) -> None:
    """Backup, journal, then the file itself: by rename, or in place where it has other names."""
    mode = 0o644 if before is None else stat.S_IMODE(os.stat(path).st_mode)  # noqa: PTH116
    backup, target = entry.folder / f"{number}.before", entry.folder / f"{number}.after"
    if before is not None:
        _write(backup, before, 0o600)
    _write(target, after, 0o600)
    temporary = f"{path}.doctor-{os.getpid()}.tmp"
    record = {
        "kind": "file", "state": BEGUN, "path": path, "mode": mode, "temporary": temporary, "in_place": in_place,
        "before": digest(before), "after": digest(after), "backup": backup.name, "target": target.name,
    }  # fmt: skip
    entry.steps.append(record)
    entry.keep()
    try:
        if in_place:
            swap.write_in_place(Path(path), after, [digest(before)])
        else:
            _write(Path(path), after, mode, Path(temporary), digest(before))
    except Refused:  # somebody saved the file: it is theirs, and nothing of it is to be taken back
        record["state"] = UNDONE
        raise
    record["state"] = DONE
    entry.keep()


def _run(entry: JournalEntry, step: Run) -> None:
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


def _refuse_lost(entry: JournalEntry, record: dict[str, Any], contents: dict[str, str]) -> None:
    """Nothing is taken back unless all of it can be; `contents` are those that plans taken back before will leave."""
    if record["kind"] == "run":
        if record["undo_argv"] is None and record["state"] == DONE:
            msg = f"`{' '.join(record['argv'])}` cannot be undone"
            raise Refused(msg)
        return
    path = record["path"]
    there = contents[path] if path in contents else digest(read_or_none(path))
    same = [each for each in entry.steps if each.get("path") == path]
    if there not in {each[key] for each in same for key in ("before", "after")} and not _is_torn(entry, record):
        msg = f"`{path}` was changed since; its former content is in `{entry.folder / record['backup']}`"
        raise Refused(msg)
    if record["before"] and digest(read_or_none(str(entry.folder / record["backup"]))) != record["before"]:
        msg = f"the backup of `{path}` is missing or damaged"
        raise Refused(msg)


def _is_torn(entry: JournalEntry, record: dict[str, Any]) -> bool:
    """Whether a file is half-written: a doctor was killed while it wrote it in place."""
    if not record.get("in_place") or record["state"] == UNDONE:
        return False
    now = read_or_none(record["path"])
    before, after = (read_or_none(str(entry.folder / record[name])) for name in ("backup", "target"))
    if now is None or before is None or after is None:
        return False
    return swap.is_torn(now, before, after) or swap.is_torn(now, after, before)


def _take_back(entry: JournalEntry) -> None:
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


def _restore(entry: JournalEntry, record: dict[str, Any]) -> None:
    path, temporary = Path(record["path"]), Path(record["temporary"])
    _clear(entry, record, temporary)
    now = digest(read_or_none(str(path)))
    if now == record["before"]:
        return
    if now != record["after"] and not _is_torn(entry, record):
        msg = f"`{path}` was changed since; its former content is in `{entry.folder / record['backup']}`"
        raise Refused(msg)
    if not record["before"]:
        path.unlink(missing_ok=True)
        return
    content = (entry.folder / record["backup"]).read_bytes()
    if record.get("in_place"):
        swap.write_in_place(path, content, [now])
    else:
        _write(path, content, record["mode"], temporary, now)


def _clear(entry: JournalEntry, record: dict[str, Any], temporary: Path) -> None:
    """Take away what a killed doctor left beside the file; what somebody else had saved there is theirs.

    Raises:
        Refused: it is none of our contents, nor the begin of one.

    """
    left = read_or_none(str(temporary))
    if left is None:
        return
    ours = (read_or_none(str(entry.folder / record[name])) or b"" for name in ("target", "backup") if name in record)
    if not any(each.startswith(left) for each in ours):
        msg = f"`{temporary}` holds what was saved as `{record['path']}` while a fix was interrupted"
        raise Refused(msg)
    temporary.unlink()


def _write(path: Path, content: bytes, mode: int, temporary: Path | None = None, expected: str | None = None) -> None:
    """Make a file by rename, in its own folder, with its owner where there was one; on the disk when this returns.

    Raises:
        Refused: the file there is not the one that is `expected` (its sha256; ABSENT: none); it stays.

    """
    temporary = temporary or path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with named(path), temporary.open("wb") as out:
        out.write(content)
        out.flush()
        os.fchmod(out.fileno(), mode)
        with suppress(OSError):  # only root may give a file away
            owner = path.stat()
            os.fchown(out.fileno(), owner.st_uid, owner.st_gid)
        with suppress(OSError):
            for name in os.listxattr(path):  # access lists, labels
                os.setxattr(out.fileno(), name, os.getxattr(path, name))
        os.fsync(out.fileno())
    if expected is None:
        temporary.replace(path)
    else:
        swap.put(temporary, path, expected)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

"""What a process of a rehearsal tells: one JSON object a line, in a file of its own below the rehearsal's folder."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Optional

from doctor.base.redact import redact
from doctor.monitors.rehearse.settings import settings
from doctor.run.appender import Appender
from doctor.run.folder import host_name

if TYPE_CHECKING:
    from types import TracebackType

#: below the rehearsal's folder: of the pass that is under way, and of the first one while the second is
FOLDER, FIRST = "journal", "journal-1"

#: what can be rehearsed, in the order in which a run comes to it
PHASES = (
    "imports", "configuration", "model", "data", "reward", "engine", "generation", "loss", "backward", "optimizer",
    "weight_update", "logging", "evaluation", "save", "resume",
)  # fmt: skip


class _Own:
    pid: Optional[int] = None
    file: Optional[Appender] = None
    open: ClassVar[list[str]] = []
    told: ClassVar[set[str]] = set()
    crashes = 0


def forget() -> None:
    """Begin anew: this process has become one of another pass."""
    _Own.pid = _Own.file = None
    _Own.open.clear()
    _Own.told.clear()
    _Own.crashes = 0


def inside() -> bool:
    """Whether a phase has begun and not ended in this process."""
    return bool(_Own.open)


def rank() -> int:
    """Of this process; 0 outside of a launcher."""
    text = os.environ.get("RANK", "")
    return int(text) if text.isdecimal() else 0


def local_main() -> bool:
    """Whether this is the process that speaks for all of its machine."""
    return os.environ.get("LOCAL_RANK", "0") in ("", "0")


def write(kind: str, **values: Any) -> None:
    """Append an entry; whatever goes wrong stays here."""
    try:
        if _Own.pid != os.getpid():  # forked: a file of its own
            name = f"{host_name()}-{os.getpid()}.jsonl"
            _Own.pid, _Own.file = os.getpid(), Appender(settings().root / FOLDER / name)
        told: Any = redact(values, homes=False)
        entry = {"t_ns": time.time_ns(), "pid": os.getpid(), "rank": rank(), "kind": kind, **told}
        assert _Own.file is not None  # noqa: S101 - for the type checker
        _Own.file.write(json.dumps(entry, default=str, ensure_ascii=False) + "\n")
    except Exception:  # noqa: BLE001 - the journal is never worth a run
        return


def once(kind: str, key: str, **values: Any) -> None:
    """Append an entry the first time that this process comes to it."""
    if f"{kind}:{key}" not in _Own.told:
        _Own.told.add(f"{kind}:{key}")
        write(kind, **values)


class phase:  # noqa: N801 - used like a function
    """Marks a phase; what it raises is noted and goes on its way. A phase inside the same phase is part of it.

    A class, for a generator would add its frames to the traceback of what passes through.
    """

    def __init__(self, name: str) -> None:
        self._name, self._marks = name, False

    def __enter__(self) -> None:
        """Begin."""
        self._marks = self._name not in _Own.open
        if self._marks:
            _Own.open.append(self._name)
            write("phase", name=self._name, edge="begin")

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], where: Optional[TracebackType]
    ) -> None:
        """End."""
        if self._marks:
            _Own.open.remove(self._name)
            told = {} if kind is None or getattr(kind, "of_rehearsal", False) else {"error": kind.__name__}
            write("phase", name=self._name, edge="end", **told)


def reached(name: str) -> None:
    """Mark that a phase, which has no duration of its own, was come to."""
    write("phase", name=name, edge="begin")
    write("phase", name=name, edge="end")


def replaced(what: str, before: Any, after: Any) -> None:
    """Note that something of the user's is another one in the rehearsal."""
    once("replaced", f"{what}:{before}", what=what, before=before, after=after)


def left_out(name: str, why: str, **values: Any) -> None:
    """Note that something was not rehearsed; `why` is a key of the doctor's sentences, with its values."""
    once("left_out", f"{name}:{why}", name=name, why=why, values=values)


def crashed(where: str) -> None:
    """Note a bug of ours; called in an `except`."""
    _Own.crashes += 1
    if _Own.crashes > 20:
        return
    try:
        told, error = traceback.format_exc()[-4000:], str(sys.exc_info()[1])[:300]
    except Exception:  # noqa: BLE001 - an exception of the program's that cannot say what it is
        told, error = "", str(sys.exc_info()[0])
    write("crashed", where=where, traceback=told, error=error)


def shielded(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function of ours, whose own failures are noted and never reach the user's program."""

    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        except Exception:  # noqa: BLE001 - a bug of ours
            crashed(getattr(original, "__qualname__", "?"))
            return None

    return guarded


def entries(root: Path, folder: str = FOLDER) -> list[dict[str, Any]]:
    """All entries of a pass in order of time; torn lines are skipped."""
    found = []
    for path in sorted((root / folder).glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict) and isinstance(entry.get("t_ns"), int) and isinstance(entry.get("kind"), str):
                found.append(entry)
    return sorted(found, key=lambda each: each["t_ns"])

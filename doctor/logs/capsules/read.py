"""Reads the capsules of a run: what each process held when it failed, or stood at when another one did.

The shape is published by `doctor schema capsule`; what wrote them is `doctor.monitors.capsule`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from doctor.base.record import record
from doctor.catalogue.outcome import Skipped

SCHEMA = "doctor-capsule/1"
FOLDER = "capsules"
_LARGEST, _MOST_FILES = 4 << 20, 4096

Fact = Mapping[str, Any]


@record
class CapsuleFrame:
    """One frame.

    Args:
        file, line, function: its place; `own`: of the user's own code.
        lines: the statement as it stands in the source.
        values: expression -> facts.
        made_by: expression -> what was called for it, and facts of that, where a call gave None.
        conditions: those that guard the statement, innermost first: text, taken, now, values.

    """

    file: str
    line: int
    function: str
    own: bool
    lines: tuple[str, ...] = ()
    values: Mapping[str, Fact] = field(default_factory=dict)
    conditions: tuple[Fact, ...] = ()
    module: str = ""
    made_by: Mapping[str, tuple[str, Fact]] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """`trainer.py:12 (train)`."""
        return f"{Path(self.file.replace(chr(92), '/')).name}:{self.line} ({self.function})"


@record
class CapsuleLink:
    """One exception of a chain; `frames`: innermost first."""

    type: str
    message: str
    frames: tuple[CapsuleFrame, ...]

    @property
    def name(self) -> str:
        """Type without its module."""
        return self.type.rpartition(".")[2]


@record
class CapsuleFailure:
    """One failure of a process.

    Args:
        source: who saw it: excepthook, thread, process, exit, logged, worker, ray.
        ends: whether it ended the process.
        code: of `sys.exit`.
        t_ns: wall time.
        chain: the first raise first.

    """

    source: str
    ends: bool
    code: Any
    t_ns: int
    chain: tuple[CapsuleLink, ...]


@record
class Capsule:
    """What one process told.

    Args:
        path: its file.
        process: facts of it (`rank`, `pid`, `host`, `role`, `progress`, `memory`, `cards` ...).
        failures: in the order in which they were told.
        stands: frames of the main thread where a sibling failed, innermost first.
        configs, modules: configurations and modules that its frames could see.

    """

    path: str
    process: Fact
    failures: tuple[CapsuleFailure, ...] = ()
    stands: tuple[CapsuleFrame, ...] = ()
    configs: tuple[Fact, ...] = ()
    modules: tuple[Fact, ...] = ()

    @property
    def rank(self) -> int | None:
        """Rank, where the process had one."""
        rank = self.process.get("rank")
        return rank if isinstance(rank, int) else None

    @property
    def step(self) -> int | None:
        """Optimizer step that the guard noted last."""
        progress = self.process.get("progress")
        step = progress.get("step") if isinstance(progress, Mapping) else None
        return step if isinstance(step, int) else None

    @property
    def who(self) -> str:
        """`rank 1`, or the role and process id."""
        return f"rank {self.rank}" if self.rank is not None else f"{self.process.get('role')} {self.process.get('pid')}"


@record
class Capsules:
    """All capsules of what was given, and why some could not be read."""

    capsules: tuple[Capsule, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    signals: tuple[tuple[str, str], ...] = ()  # (file, text of the stacks that a signal left)


def read(paths: Iterable[str], files: Iterable[str] = ()) -> Capsules:
    """Capsules of the run folders among `paths`, and those named in `files`.

    Nothing here raises: what is no capsule is skipped with a reason.
    """
    wanted = [Path(each) for each in files]
    signals: list[tuple[str, str]] = []
    for path in paths:
        folder = Path(path) / FOLDER
        if folder.is_dir():
            wanted += sorted(folder.glob("*.json"))[:_MOST_FILES]
            signals += _stacks(folder)
    found: list[Capsule] = []
    skipped: list[Skipped] = []
    for path_ in dict.fromkeys(wanted):
        try:
            found.append(load(path_))
        except (OSError, ValueError) as error:
            skipped.append(Skipped("capsule", f"`{path_}`: {error}"))
    return Capsules(tuple(found), tuple(skipped), tuple(signals))


def _stacks(folder: Path) -> Iterator[tuple[str, str]]:
    for each in sorted(folder.glob("*.stack"))[:_MOST_FILES]:
        try:
            text = each.read_text(encoding="utf-8", errors="replace")[:20_000]
        except OSError:
            continue
        if text.strip():
            yield str(each), text


def load(path: Path) -> Capsule:
    """One capsule.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no capsule; the message says in what.

    """
    if path.stat().st_size > _LARGEST:
        raise ValueError("larger than a capsule is")
    try:
        data = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        msg = f"no capsule of the schema {SCHEMA}"
        raise ValueError(msg)
    try:
        return Capsule(
            str(path), _map(data["process"]), tuple(_failure(each) for each in data["failures"]),
            _frames((data.get("stands") or {}).get("frames", ())), tuple(map(_map, data.get("configs", ()))),
            tuple(map(_map, data.get("modules", ()))),
        )  # fmt: skip
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        msg = f"no whole capsule ({type(error).__name__}: {error})"
        raise ValueError(msg) from None


def _map(value: Any) -> Fact:
    if not isinstance(value, dict):
        raise TypeError("a mapping was expected")
    return value


def _failure(data: Any) -> CapsuleFailure:
    chain = tuple(
        CapsuleLink(str(each["type"]), str(each["message"]), _frames(each["frames"])) for each in data["chain"]
    )
    return CapsuleFailure(str(data["source"]), bool(data["ends"]), data.get("code"), int(data["t_ns"]), chain)


def _frames(data: Sequence[Any]) -> tuple[CapsuleFrame, ...]:
    return tuple(
        CapsuleFrame(
            str(each["file"]),
            int(each["line"]),
            str(each["function"]),
            bool(each.get("own")),
            tuple(map(str, each.get("lines", ()))),
            _values(each.get("values", ())),
            tuple({**condition, "values": _values(condition["values"])} for condition in each.get("conditions", ())),
            str(each.get("module", "")),
            {str(name): (str(called), _map(fact)) for name, called, fact in each.get("made_by", ())},
        )
        for each in data
    )


def _values(data: Iterable[Any]) -> dict[str, Fact]:
    return {str(name): _map(fact) for name, fact in data}


def as_log(capsule: Capsule) -> str:
    """The failures of a capsule as Python would have printed them, for who has no log of that process."""
    parts: list[str] = []
    for failure in capsule.failures:
        for link in failure.chain:
            parts.append("Traceback (most recent call last):")
            for frame in reversed(link.frames):
                parts.append(f'  File "{frame.file}", line {frame.line}, in {frame.function}')
                parts += [f"    {frame.lines[0].strip()}"] if frame.lines else []
            parts.append(f"{link.type.removeprefix('__main__.')}: {link.message}")
            if link is not failure.chain[-1]:
                parts += ["", "During handling of the above exception, another exception occurred:", ""]
    return "\n".join(parts) + "\n"

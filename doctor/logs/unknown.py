"""Gathers what can be said honestly about a failure that no signature knows."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from doctor.core.finding import Evidence, Finding, Where
from doctor.core.index import Entry
from doctor.core.unknown import INTERRUPT, Unknown
from doctor.logs.case import Case
from doctor.logs.exits import Exit
from doctor.logs.frames import Frame
from doctor.logs.nature import EMPTY
from doctor.logs.tracebacks import Failure, Raised
from doctor.logs.victims import is_victim

_AREA = "unknown"
_NAME = re.compile(r"[`'\"](?P<name>[A-Za-z_][\w.\-\[\]/]{0,47})[`'\"]")
_MOST_NAMES, _MOST_OWN = 3, 3
#: a folder under site-packages and the distribution that brings it
_DISTRIBUTIONS = {"flash_attn": "flash-attn", "trinity": "trinity-rft", "huggingface_hub": "huggingface-hub"}
#: lines: `pip list` of a full environment with collect_env and `nvidia-smi -q` beside it
_LONGEST_REPORT = 3_000
#: lines with a time of their own: `nvidia-smi` tells one, a log of a run tells many
_MOST_STAMPS = 3
#: functions through which an attribute is read that is not there
_ASKED = ("__getattr__", "__getattribute__")
#: torch's module stands between who calls or asks and whom; it says nothing itself
_TORCH_MODULE = re.compile(r"torch[\\/]nn[\\/]modules[\\/]module\.py$")
_BETWEEN = (*_ASKED, "_call_impl", "_wrapped_call_impl")
#: `raise New(...) from error`
_FROM = re.compile(r"^raise [^\n]{1,400} from (?!None\b)\w{1,40}$")
_WAITED = re.compile(r"[Tt]imed out|[Tt]imeout|wait timeout")


def answer(unknown: Unknown, entries: Iterable[Entry]) -> Finding | None:
    """What the area `unknown` says, by the first of its problems that answers."""
    for entry in entries:
        if entry.area != _AREA:
            continue
        function = getattr(importlib.import_module(entry.module), "answer", None)
        finding = function(unknown) if function is not None else None
        if isinstance(finding, Finding):
            return finding
    return None


def of_failure(case: Case, failure: Failure) -> Unknown:
    """A process raised something of its own."""
    cause = failure.cause
    inner = _meaningful(cause)
    library = inner.package if inner is not None else ""
    version = case.versions.get(_DISTRIBUTIONS.get(library, library), "")
    callers = dict.fromkeys(each.package for each in reversed(cause.frames) if each.package not in {"", library})
    own = [place_of(each) for each in reversed(cause.frames) if each.own]
    ended = _exit_of(case, failure.rank)
    others = sorted(
        {
            each.rank
            for each in case.failures
            if each.rank is not None and each.rank != failure.rank and is_victim(each.cause)
        }
    )
    return Unknown(
        "exception", Where(file=cause.line.file, line=cause.line.number, rank=failure.rank), _evidence(cause),
        failure.process, failure.rank, cause.name or cause.type, _names(cause), cause.message,
        failure.end.message if failure.end is not cause else "", place_of(inner) if inner else "",
        library, version, tuple(dict.fromkeys(own))[:_MOST_OWN], others, ended.code if ended else None,
        ended.signal if ended else "", steps=case.marks.steps, folded=case.marks.folded is not None,
        partial=not case.whole, callers=tuple(callers)[:_MOST_OWN],
        instead=cause is failure.chain[0] and bool(cause.frames and _FROM.match(cause.frames[-1].code.strip())),
    )  # fmt: skip


def of_consequences(case: Case, victims: list[Failure], ended: list[Exit]) -> Unknown:
    """Nobody says what went wrong first; `ended` are exits that no launcher asked for."""
    first = min(ended, key=lambda each: (not each.root, each.line.place)) if ended else None
    silent = {each.rank for each in ended if each.rank is not None}
    waiting = sorted({each.rank for each in victims if each.rank is not None and each.rank not in silent})
    absent = sorted(set(range(case.world_size or 0)) - set(waiting)) if waiting else sorted(silent)
    line = first.line if first else victims[0].cause.line
    evidence = tuple(Evidence(each.line.file, each.line.text[:500], each.line.number) for each in ended[:1])
    evidence += tuple(
        Evidence(each.cause.line.file, each.cause.line.text[:500], each.cause.line.number) for each in victims[:2]
    )
    # a Ctrl-C says less than any other word
    told = next((each.cause for each in victims if each.cause.name != INTERRUPT), victims[0].cause if victims else None)
    frames = told.frames[-1:] if told is not None else ()
    return Unknown(
        "consequences", Where(file=line.file, line=line.number, rank=first.rank if first else None), evidence,
        f"rank {first.rank}" if first and first.rank is not None else "", first.rank if first else None,
        told.name if told else "", message=told.message if told else "",
        raised_in=place_of(frames[0]) if frames else "", exit_code=first.code if first else None,
        signal=first.signal if first else "", waiting=waiting, absent=absent, steps=case.marks.steps,
        folded=case.marks.folded is not None, partial=not case.whole,
    )  # fmt: skip


def of_silence(case: Case) -> Unknown:
    """No failure and no end."""
    last = case.last
    evidence = (Evidence(last.file, last.text[:500], last.number),) if last else ()
    where = Where(file=last.file, line=last.number) if last else Where(file=case.sources[0].path)
    return Unknown(
        "abrupt", where, evidence, steps=case.marks.steps, folded=case.marks.folded is not None,
        partial=not case.whole, nature="report" if _is_report(case) else _nature(case),
    )  # fmt: skip


def _nature(case: Case) -> str:
    """What all that was given is, where none of it shows a run; empty files beside others say nothing."""
    kinds = {case.natures.get(place, "") for place in range(len(case.sources))}
    kinds -= {EMPTY} if len(kinds) > 1 else set()
    return kinds.pop() if len(kinds) == 1 else ""


def _is_report(case: Case) -> bool:
    """Whether what was given says what is installed on a machine, and nothing of a run."""
    stamped = sum(len(each) for each in case.clocks.values())
    if case.marks.steps is not None or case.lines > _LONGEST_REPORT or stamped > _MOST_STAMPS:
        return False
    from doctor.facts.pasted import read_report

    return any(read_report("\n".join(text for _, text in kept), "") for kept in case.kept)


def place_of(frame: Frame) -> str:
    """Short form of a frame: "trl/trainer/grpo_trainer.py:1576 (train)"; the user's own files by name alone."""
    path = frame.path.replace("\\", "/")
    inside = f"/{path}".rpartition(f"/{frame.package}/")[2] if frame.package else ""
    short = f"{frame.package}/{inside}" if inside and f"/{frame.package}/" in f"/{path}" else PurePosixPath(path).name
    line = f":{frame.line}" if frame.line else ""  # old notebooks do not tell it
    return f"{short}{line} ({frame.function})"


def _meaningful(raised: Raised) -> Frame | None:
    """The innermost frame that says something.

    That is none of the standard library or of torch's module where somebody else called it, and of a library that asks
    for an attribute not `__getattr__` itself.
    """
    told = [each for each in raised.frames if not _is_between(each)]
    frames = [each for each in told if each.package or each.own] or told or list(raised.frames)
    if not frames:
        return None
    asking = [each for each in frames if each.function not in _ASKED]
    return asking[-1] if asking and asking[-1].package else frames[-1]


def _is_between(frame: Frame) -> bool:
    return frame.function in _BETWEEN and bool(_TORCH_MODULE.search(frame.path))


def _names(raised: Raised) -> tuple[str, ...]:
    names = (match["name"] for match in _NAME.finditer(raised.message[:600]))
    return tuple(dict.fromkeys(names))[:_MOST_NAMES]


def _evidence(raised: Raised) -> tuple[Evidence, ...]:
    line = raised.line
    text = f"{raised.type}: {raised.message}" if raised.message else raised.type
    return (Evidence(line.file, text[:500], line.number),)


def _exit_of(case: Case, rank: int | None) -> Exit | None:
    return next((each for each in case.exits if rank is not None and each.rank == rank), None)


def waited(failure: Failure) -> bool:
    """Whether a failure is that of a rank that waited for others in vain."""
    return bool(_WAITED.search(failure.cause.message[:2000]))

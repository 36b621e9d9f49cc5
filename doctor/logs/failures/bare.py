"""Exceptions of libraries whose words say nothing of the cause: told by their frames, and by what was going on.

A bare `assert`, `raise NotImplementedError`, a task that somebody cancelled, a time limit that ran out, a plain copy to
a GPU that CUDA refuses. The frames tell which part of which library it is and which settings of the run are named after
that part, the lines just before it what was under way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.base.redact import redact_text
from doctor.catalogue.finding import Finding
from doctor.catalogue.spoken import Sense, Spoken
from doctor.logs.failures.case import Case
from doctor.logs.failures.frames import Frame
from doctor.logs.failures.raised import Failure, Raised
from doctor.logs.failures.unrecognised import place_of
from doctor.logs.lines.prefixes import strip
from doctor.logs.metrics.courses import settings_of

#: what a library raises with no word of its own; of other kinds Python words what was asked
_SILENT = frozenset({"AssertionError", "NotImplementedError", "RuntimeError", "ValueError", "Exception"})
_CANCELLED = frozenset({"CancelledError", "TaskCancelledError"})
_CONDITION = later(r"^assert (?P<what>[^\n,]{1,120})")
_MOST_FRAMES, _MOST_SETTINGS, _MOST_STATE, _BEFORE = 3, 4, 3, 60
_PARTS = later(r"[A-Za-z]{3,}")
#: parts of names that thousands of settings and files hold
_EVERYDAY = frozenset({
    "enable", "disable", "model", "models", "path", "size", "num", "max", "min", "use", "train", "trainer", "training",
    "data", "batch", "gpu", "name", "type", "file", "config", "world", "rank", "local", "worker", "workers", "steps",
    "step", "run", "main", "init", "get", "set", "per", "with", "from", "for", "the", "not", "self", "args", "mode",
    "level", "utils", "util", "core", "engine", "parallel", "global", "device", "backend", "backends", "python", "ray",
    "actor", "critic", "ref", "rollout", "algorithm", "server", "serve", "entrypoints", "layers", "forward", "call",
    "process", "loop", "base", "dir", "output", "input", "inputs", "true", "false", "none", "group", "count", "token",
    "tokens", "seq", "len", "length", "version", "time", "test", "value", "values", "total", "return", "raise",
    "tensor", "tensors", "distributed", "update",
})  # fmt: skip
_OFF = (None, False, 0, "no", "none", "null", "NO", "False", "false", "default", "")
#: counters of work that is not done, as engines and orchestrators print them: `#running-req: 37`, `Waiting: 64 reqs`
_COUNTER = later(
    r"(?i)(?P<name>#?(?:num[_ -])?(?:running|waiting|pending|queued?|in[_-]?flight|unfinished|active|remaining)"
    r"(?:[_ -](?:reqs?|requests?|tasks?|seqs?|jobs?))?)\s?[:=]\s?(?P<count>\d{1,7})\b(?!\.\d)"
)
#: conditions that such a counter contradicts
_AT_REST = later(r"(?i)idle|empty|drain|no_(?:req|pending|running)|finished|all_done|not self\.\w*(?:running|waiting)")
_CANCELS = later(
    r"(?i)\b(?:cancel(?:l?(?:ing|ed|s))?|abort(?:ing|ed|s)?|interrupt(?:ing|ed|s)?|pre-?empt(?:ing|ed|s)?)\b"
)
#: a plain allocation or copy, which no argument of the program can make invalid
_PLAIN_COPY = later(r"\.(?:to|cuda|copy_|clone|contiguous|pin_memory)\(|\b(?:zeros|empty|ones|full)(?:_like)?\(")
_NOT_MAPPED = later(r"(?i)CUDA error: (?P<what>invalid argument|an illegal memory access was encountered)")
_GIVEN_AWAY = later(r"(?i)offload|sleep|memory_saver|release_memory|colocat")
#: the same as flags of a command that are on
_FLAGS = later(
    r"(?i)(?<!no )(?<!without )(--[\w\-.]{0,40}(?:offload|sleep|memory-saver|colocat)[\w\-]{0,30})"
    r"(?![\w\-])(?!(?:=| )(?:false|0|no)\b)"
)


def said_by(first: Finding, case: Case) -> Spoken | None:
    """What frames and the lines before show of an unknown exception; None where that is no more than its type."""
    at = (first.where.file, first.where.line)
    failure = next((each for each in case.failures if (each.cause.line.file, each.cause.line.number) == at), None)
    if failure is None:
        return None
    raised = failure.cause
    known = _cancelled(failure, case) or _given_away(raised, case) or _refused_in_silence(raised, case)
    if known is None:
        return None
    frames = raised.frames
    own = [each for each in frames if each.own]
    return Spoken(
        known.sense, known.what, first.where, (*first.evidence, *known.quotes), _library(frames), first=known.first,
        second=place_of(own[-1]) if own else "", settings=known.settings, raised=True,
        place=place_of(frames[-1]) if frames else "", callers=_callers(frames),
    )  # fmt: skip


class _Known(NamedTuple):
    sense: Sense
    what: str
    first: str = ""
    settings: tuple[str, ...] = ()
    quotes: tuple[Observed, ...] = ()


def _refused_in_silence(raised: Raised, case: Case) -> _Known | None:
    """A refusal without words, in code of a library."""
    frame = raised.frames[-1] if raised.frames else None
    if frame is None or frame.own or not frame.package or raised.name not in _SILENT:
        return None
    code = redact_text(frame.code.strip(), homes=False)
    condition = _CONDITION.match(code)
    if raised.message.strip() not in {"", code, condition["what"] if condition else ""}:
        return None
    what = condition["what"].strip().replace("`", "'") if condition else ""
    state = _unfinished(case, raised) if _AT_REST.search(what) else ()
    settings = settings_of_frames(raised.frames, settings_of(case))
    if not (settings or state):
        return None  # a place alone is what the unknown answer tells as well
    counted = ", ".join(f"{name} = {count}" for name, count, _ in state)
    return _Known("silent", what, counted, settings, tuple(quote for _, _, quote in state[:1]))


def _cancelled(failure: Failure, case: Case) -> _Known | None:
    """A task that was cancelled, where an earlier line tells who did it."""
    if "CancelledError" not in failure.cause.type:
        return None
    chains = [one for each in (failure, *case.failures) for one in each.chain]
    raised = next((each for each in chains if each.name in _CANCELLED), None)
    if raised is None:
        return None
    for number, text in _lines_before(case, raised):
        line = strip(text).text.strip()
        if _CANCELS.search(line) and "Error" not in line:
            told = redact_text(line, homes=False).replace("`", "'")[:110]
            quote = Observed.quoted(raised.line.file, redact_text(text.strip())[:300], number)
            words = Frame("", 0, "", line)
            settings = settings_of_frames((*raised.frames, words), settings_of(case))
            return _Known("cancelled", told, settings=settings, quotes=(quote,))
    return None


def _given_away(raised: Raised, case: Case) -> _Known | None:
    """CUDA refuses a plain copy in a run whose settings give memory away for a while."""
    error = _NOT_MAPPED.search(raised.message)
    frame = raised.frames[-1] if raised.frames else None
    if error is None or frame is None or not _PLAIN_COPY.search(frame.code):
        return None
    made = settings_of(case).items()
    on = [name for name, value in made if value is True and _GIVEN_AWAY.search(name.rpartition(".")[2])]
    shown = "\n".join([case.given.text, *(text for kept in case.kept for _, text in kept[:_BEFORE])])
    flags = list(dict.fromkeys(_FLAGS.findall(shown)))
    spelled = {each.lstrip("-").replace("-", "_") for each in flags}
    settings = [*flags, *(f"{each}=True" for each in on if each not in spelled)]
    if not settings:
        return None
    doing = [each.function for each in raised.frames if each.package != "torch" and not each.starts]
    return _Known("given_away", error["what"], doing[0] if doing else "", tuple(settings[:_MOST_SETTINGS]))


# what frames and lines tell -----------------------------------------------------------------------------------------


def settings_of_frames(frames: Sequence[Frame], settings: Mapping[str, object]) -> tuple[str, ...]:
    """Settings that are on and named after the code in which an exception was raised, the closest ones first.

    Files, functions and lines of the innermost frames are compared by the beginnings of their words, so that
    `sampling` finds `sample_tokens`.
    """
    inner = [each for each in frames if each.package != "torch" or len(frames) == 1][-_MOST_FRAMES:]
    words: set[str] = set()
    for each in inner:
        inside = each.path.replace("\\", "/").rpartition("-packages/")[2]
        text = f"{'/'.join(inside.split('/')[1:])} {each.function} {each.code}"
        words |= _stems(text)
    found: list[tuple[int, str]] = []
    for name, value in settings.items():
        own = name.rpartition(".")[2]
        if value in _OFF or not isinstance(value, bool | int | float | str):
            continue
        if own == name and any(other.endswith(f".{name}") for other in settings):
            continue
        shared = len(_stems(own) & words)
        if shared:
            found.append((-shared, f"{name}={value}"))
    return tuple(each for _, each in sorted(found, key=lambda each: each[0])[:_MOST_SETTINGS])


def _stems(text: str) -> set[str]:
    parts = (each.lower() for each in _PARTS.findall(re.sub(r"([a-z])([A-Z])", r"\1 \2", text)))
    return {each[:5] for each in parts if each not in _EVERYDAY and len(each) >= 4}


def _unfinished(case: Case, raised: Raised) -> tuple[tuple[str, str, Observed], ...]:
    """Counters of work that is not done in the last lines before, with the line that tells them."""
    for number, text in _lines_before(case, raised):
        counted = [(each["name"], each["count"]) for each in _COUNTER.finditer(text) if int(each["count"])]
        if counted:
            quote = Observed.quoted(raised.line.file, redact_text(text.strip())[:300], number)
            return tuple((name, count, quote) for name, count in counted[:_MOST_STATE])
        if _COUNTER.search(text):
            return ()
    return ()


def _lines_before(case: Case, raised: Raised) -> Iterator[tuple[int, str]]:
    """Lines of the same file before an exception, the nearest first."""
    lines = case.kept[raised.line.source] if raised.line.source < len(case.kept) else []
    before = [each for each in lines if each[0] < raised.line.number]
    yield from reversed(before[-_BEFORE:])


def _library(frames: Sequence[Frame]) -> str:
    packages = [each.package for each in frames if each.package]
    return packages[-1] if packages else ""


def _callers(frames: Sequence[Frame]) -> tuple[str, ...]:
    own = _library(frames)
    others = (each.package for each in reversed(frames) if each.package not in {"", own, "torch"})
    return tuple(dict.fromkeys(others))[:2]

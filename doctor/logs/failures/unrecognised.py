"""Gathers what can be said honestly about a failure that no signature knows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from doctor.base.evidence import Observed
from doctor.base.key_blocks import hide_in_lines
from doctor.base.patterns import later
from doctor.base.record import replace
from doctor.base.redact import redact_text
from doctor.catalogue.finding import Finding, Where
from doctor.catalogue.index import Entry
from doctor.catalogue.problem_files import function_of
from doctor.catalogue.shared.numbers import meanings, numbers_in
from doctor.catalogue.unrecognised import INTERRUPT, Unknown
from doctor.logs.failures.case import Case
from doctor.logs.failures.frames import Frame
from doctor.logs.failures.raised import Failure, Raised
from doctor.logs.failures.repeats import Repeated
from doctor.logs.failures.victims import is_victim
from doctor.logs.lines.exits import Exit
from doctor.logs.lines.lines import Line
from doctor.logs.lines.nature import EMPTY
from doctor.logs.metrics.courses import settings_of

_AREA = "unknown"
_NAME = later(r"[`'\"](?P<name>[A-Za-z_][\w.\-\[\]/]{0,47})[`'\"]")
_MOST_NAMES, _MOST_OWN = 3, 3
_LONGEST_KEY = 400  # lines
#: a folder under site-packages and the distribution that brings it
_DISTRIBUTIONS = {"flash_attn": "flash-attn", "trinity": "trinity-rft", "huggingface_hub": "huggingface-hub"}
#: lines: `pip list` of a full environment with collect_env and `nvidia-smi -q` beside it
_LONGEST_REPORT = 3_000
#: lines with a time of their own: `nvidia-smi` tells one, a log of a run tells many
_MOST_STAMPS = 3
#: functions through which an attribute is read that is not there
_ASKED = ("__getattr__", "__getattribute__")
#: torch's module stands between who calls or asks and whom; it says nothing itself
_TORCH_MODULE = later(r"torch[\\/]nn[\\/]modules[\\/]module\.py$")
_BETWEEN = (*_ASKED, "_call_impl", "_wrapped_call_impl")
#: `raise New(...) from error`
_FROM = later(r"^raise [^\n]{1,400} from (?!None\b)\w{1,40}$")
#: signals by which native code ends its own process
_CRASHES = frozenset({"SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL"})
#: of a long path its end tells more than its beginning
_LONG_PATH = later(r"'(?:[^'\n]*/)(?P<tail>[^'\n/]{0,60}/[^'\n/]{1,60})'(?<=.{50})")
#: an attribute that an object of some class lacks, and how code asks for it
_LACKING = later(r"'(?P<class>\w{1,80})' object has no attribute '(?P<name>\w{1,80})'")
_ASKED_OF = r"(?P<of>[A-Za-z_][\w.]*(?:\[[^\]\n]{1,40}\]|\(\)|\.\w+){0,4})\.%s\b"
_ASSERTION = later(r"assert (?P<asked>[^\n]{3,400}?)(?:, ?f?[\"'(].*)?$")
#: Ray's own programs that call other libraries; the rest of Ray only carries calls
_RAYS_PROGRAMS = later(r"[\\/]ray[\\/](?:llm|serve|train|tune|data|rllib)[\\/]")
#: a name alone, or two of them, are no sentence
_FEWEST_WORDS, _LONGEST_SENTENCE, _LONGEST_MESSAGE = 3, 180, 1_000
_WORD = later(r"(?<![\w.'\"/])[A-Za-z\u4e00-\u9fff][A-Za-z\u4e00-\u9fff'-]+(?![\w./'\"])")
_SENTENCE_END = later(r"(?<=[a-z0-9)'\"\]])[.!] +(?=[A-Z`'])")
_WAITED = later(r"[Tt]imed out|[Tt]imeout|wait timeout")


def answer(unknown: Unknown, entries: Iterable[Entry]) -> Finding | None:
    """What the area `unknown` says, by the first of its problems that answers."""
    for entry in entries:
        if entry.area != _AREA:
            continue
        function = function_of(entry, "answer")
        finding = function(unknown) if function is not None else None
        if isinstance(finding, Finding):
            return finding
    return None


def of_failure(case: Case, failure: Failure) -> Unknown:
    """A process raised something of its own."""
    cause = _without_secrets(failure.cause)
    inner = _meaningful(cause)
    library = inner.package if inner is not None else ""
    version = case.versions.get(_DISTRIBUTIONS.get(library, library), "")
    callers = dict.fromkeys(
        each.package
        for each in reversed(cause.frames)
        if each.package not in {"", library} and (each.package != "ray" or _RAYS_PROGRAMS.search(each.path))
    )
    asked = _asked_of(cause, inner)
    own = _own_frames(failure)
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
        redact_text(failure.end.message, homes=False) if failure.end is not failure.cause else "",
        place_of(inner) if inner else "", library, version, tuple(dict.fromkeys(own))[:_MOST_OWN], others,
        ended.code if ended else None, ended.signal if ended else "", steps=case.marks.steps,
        folded=case.marks.folded is not None, partial=not case.whole, callers=tuple(callers)[:_MOST_OWN],
        instead=failure.cause is failure.chain[0] and bool(cause.frames and _FROM.match(cause.frames[-1].code.strip())),
        said=sentence_of(cause.message) or _asserted(cause), subject=asked, of_itself=asked == "self" and bool(library),
        sizes=meanings(numbers_in(cause.message[:600]), settings_of(case)),
    )  # fmt: skip


def _own_frames(failure: Failure) -> list[str]:
    """Frames of the user's own code, the innermost first.

    What a library caught and answered with another exception has only the library's frames from its `try` on; the way
    there stands in the traceback of the exception that came of it.
    """
    later = failure.chain[failure.chain.index(failure.cause) :] if failure.cause in failure.chain else [failure.cause]
    own = ([place_of(each) for each in reversed(raised.frames) if each.own] for raised in later)
    return next(filter(None, own), [])


def of_consequences(case: Case, victims: list[Failure], ended: list[Exit]) -> Unknown:
    """Nobody says what went wrong first; `ended` are exits that no launcher asked for."""
    first = min(ended, key=lambda each: (not each.root, each.line.place)) if ended else None
    silent = {each.rank for each in ended if each.rank is not None}
    waiting = sorted({each.rank for each in victims if each.rank is not None and each.rank not in silent})
    absent = sorted(set(range(case.world_size or 0)) - set(waiting)) if waiting else sorted(silent)
    line = first.line if first else victims[0].cause.line
    lines = (*(each.line for each in ended[:1]), *(each.cause.line for each in victims[:2]))
    evidence = tuple(Observed.quoted(each.file, redact_text(each.text)[:500], each.number) for each in lines)
    # a Ctrl-C says less than any other word
    told = next((each.cause for each in victims if each.cause.name != INTERRUPT), victims[0].cause if victims else None)
    frames = [each for each in told.frames[-1:] if not each.starts] if told is not None else []
    return Unknown(
        "consequences", Where(file=line.file, line=line.number, rank=first.rank if first else None), evidence,
        f"rank {first.rank}" if first and first.rank is not None else "", first.rank if first else None,
        told.name if told else "", message=redact_text(told.message, homes=False) if told else "",
        raised_in=place_of(frames[0]) if frames else "", exit_code=first.code if first else None,
        signal=first.signal if first else "", waiting=waiting, absent=absent, steps=case.marks.steps,
        folded=case.marks.folded is not None, partial=not case.whole, unrecorded=case.unrecorded,
        after_end=first is not None and first.signal in _CRASHES and case.marks.ended_well_before(first.line),
    )  # fmt: skip


def of_silence(case: Case) -> Unknown:
    """No failure and no end."""
    last = case.last
    evidence = (Observed.quoted(last.file, quoted(case, last), last.number),) if last else ()
    where = Where(file=last.file, line=last.number) if last else Where(file=case.sources[0].path)
    return Unknown(
        "abrupt", where, evidence, steps=case.marks.steps, folded=case.marks.folded is not None,
        partial=not case.whole, nature="report" if is_report(case) else _nature(case), unrecorded=case.unrecorded,
    )  # fmt: skip


def of_repeated(case: Case, found: Repeated) -> Unknown:
    """An error that is logged all through a run which goes on."""
    lines = (found.first, found.last)
    evidence = tuple(Observed.quoted(each.file, quoted(case, each), each.number) for each in lines)
    where = Where(file=found.first.file, line=found.first.number)
    who = found.first.process if found.first.process == found.last.process else ""
    return Unknown("repeated", where, evidence, who, count=found.count, steps=case.marks.steps)


def quoted(case: Case, line: Line) -> str:
    """A line as evidence shows it; one of a private key, of which the log ends half-way, is known by those above it."""
    kept = [each for each in case.kept[line.source] if each[0] <= line.number][-_LONGEST_KEY:]
    text = kept[-1][1] if kept and kept[-1][0] == line.number else None
    if text is not None and (hidden := hide_in_lines(kept)[-1][1]) != text:
        return hidden[:500]
    return redact_text(line.text)[:500]


def _without_secrets(raised: Raised) -> Raised:
    """The exception as words may be taken of it; paths stay as they are."""
    return replace(raised, message=redact_text(raised.message, homes=False))


def _asserted(raised: Raised) -> str:
    """What an assertion without a message asks for, as the traceback quotes it."""
    code = raised.frames[-1].code.strip() if raised.frames and raised.type == "AssertionError" else ""
    match = _ASSERTION.match(redact_text(code, homes=False)) if not raised.message.strip() else None
    return f"assert {match['asked']}".replace("`", "'")[:_LONGEST_SENTENCE] if match else ""


def _asked_of(raised: Raised, inner: Frame | None) -> str:
    """The expression of which the innermost frame's line asks what is not there; "" where it does not tell."""
    lacking = _LACKING.search(raised.message)
    if lacking is None or inner is None:
        return ""
    match = re.search(_ASKED_OF % re.escape(lacking["name"]), redact_text(inner.code, homes=False))
    return match["of"] if match else ""


def sentence_of(message: str) -> str:
    """What a message says in its first sentence, so long as a headline may be; "" where it says nothing."""
    line = next((each for each in message.splitlines() if each.strip()), "")
    line = _LONG_PATH.sub(r"'…\g<tail>'", line)
    text = (
        _SENTENCE_END.split(" ".join(line[:_LONGEST_MESSAGE].split()), maxsplit=1)[0].replace("`", "'").rstrip(".:;, ")
    )
    if len(_WORD.findall(text)) < _FEWEST_WORDS:
        return ""
    return text if len(text) <= _LONGEST_SENTENCE else text[: _LONGEST_SENTENCE - 1].rsplit(" ", 1)[0] + " …"


def _nature(case: Case) -> str:
    """What all that was given is, where none of it shows a run; empty files beside others say nothing."""
    kinds = {case.natures.get(place, "") for place in range(len(case.sources))}
    kinds -= {EMPTY} if len(kinds) > 1 else set()
    return kinds.pop() if len(kinds) == 1 else ""


def is_report(case: Case) -> bool:
    """Whether what was given says what is installed on a machine, and nothing of a run."""
    stamped = sum(len(each) for each in case.clocks.values())
    if case.marks.steps is not None or case.lines > _LONGEST_REPORT or stamped > _MOST_STAMPS:
        return False
    from doctor.readers.pasted import read_report

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
    ran = [each for each in raised.frames if not each.starts]
    told = [each for each in ran if not _is_between(each)]
    frames = [each for each in told if each.package or each.own] or told or ran
    if not frames:
        return None
    asking = [each for each in frames if each.function not in _ASKED]
    return asking[-1] if asking and asking[-1].package else frames[-1]


def _is_between(frame: Frame) -> bool:
    return frame.function in _BETWEEN and bool(_TORCH_MODULE.search(frame.path))


def _names(raised: Raised) -> tuple[str, ...]:
    names = (match["name"] for match in _NAME.finditer(raised.message[:600]))
    return tuple(dict.fromkeys(names))[:_MOST_NAMES]


def _evidence(raised: Raised) -> tuple[Observed, ...]:
    line = raised.line
    text = f"{raised.type}: {raised.message}" if raised.message else raised.type
    return (Observed.quoted(line.file, text[:500], line.number),)


def _exit_of(case: Case, rank: int | None) -> Exit | None:
    return next((each for each in case.exits if rank is not None and each.rank == rank), None)


def waited(failure: Failure) -> bool:
    """Whether a failure is that of a rank that waited for others in vain."""
    return bool(_WAITED.search(failure.cause.message[:2000]))

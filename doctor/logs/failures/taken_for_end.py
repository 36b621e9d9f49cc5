"""Runs that end in good words right after a part of them failed: the failure was caught, and taken for the normal end.

A producer (rollouts, a loader, a server) that raises in a thread or task often still tells the others that it is
finished. They stop at once and report success, and the exit code is 0. What tells it: an exception in a line, no step
after it, and words of completion behind it. Errors of the shutdown itself come after the last step as well and
are none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.base.redact import redact_text
from doctor.catalogue.finding import Finding, Where
from doctor.catalogue.index import Entry
from doctor.catalogue.problem_files import function_of
from doctor.catalogue.spoken import Spoken
from doctor.logs.failures.case import Case
from doctor.logs.lines.prefixes import strip
from doctor.logs.lines.prose import is_document, is_said_by_program

_AREA = "launch"
_FAILED = later(
    r"(?P<what>\b[^\n]{0,80}\b(?:raised|fail(?:ed|ure)|died|crash(?:ed)?|exception|error)\b[^\n]{0,60}?)"
    r"[:(] ?(?P<kind>(?:[\w.]+\.)?[A-Z]\w{2,40}(?:Error|Exception))\b"
)
#: what concerns the end of the program itself, one item of many, or what is tried again
_MINOR = later(
    r"(?i)\b(?:shut|clos|clean|exit|atexit|destroy|__del__|tear|unlink|wandb|upload|push|report|plot|retry|retri"
    r"|attempt|skip|ignor|fall(?:ing)? ?back|warn|optional|import|item|row|sample|prompt|request|episode|session|eval)"
)
_COMPLETED = later(
    r"(?i)\b(?:finished|completed?|succeeded|success|done|all components|no more (?:data|samples|batches))\b"
)
_STEP = later(r"(?i)\bstep[s]?[:= #]{1,2}\d|['\"]loss['\"]: |\biteration +\d|\d+/\d+ \[\d")
_TAIL, _MOST, _LONGEST = 60, 20_000, 1_000


def find(case: Case, entries: Iterable[Entry]) -> Finding | None:
    """What the catalogue says of a run that reports success after a part of it failed; None for every other."""
    if case.failures or case.exits or not case.whole or case.lines > _MOST:
        return None
    for place, kept in enumerate(case.kept):
        told = _told(case, place, kept[-_TAIL:])
        if told is not None:
            return _answer(told, entries)
    return None


def _told(case: Case, place: int, lines: Sequence[tuple[int, str]]) -> Spoken | None:
    path = case.sources[place].path
    steps = [index for index, (_, text) in enumerate(lines) if _STEP.search(text)]
    for index, (number, whole) in enumerate(lines):
        line = strip(whole[:_LONGEST]).text.strip()
        match = _FAILED.search(line)
        if match is None or _MINOR.search(line) or not steps or steps[-1] > index:
            continue
        behind = [each for each in lines[index + 1 :] if _COMPLETED.search(each[1])]
        last = [text for _, text in lines if text.strip()][-1]
        if not behind or not _COMPLETED.search(last):
            continue
        if not is_said_by_program(whole, in_document=is_document(path, lines)):
            continue
        quotes = [(number, whole), behind[0], behind[-1]]
        evidence = [Observed.quoted(path, redact_text(text.strip())[:300], at) for at, text in quotes]
        what = redact_text(line, homes=False).replace("`", "'")[:110]
        return Spoken("taken_for_end", what, Where(file=path, line=number), tuple(dict.fromkeys(evidence)))
    return None


def _answer(told: Spoken, entries: Iterable[Entry]) -> Finding | None:
    for entry in entries:
        judge = function_of(entry, "of_words") if entry.area == _AREA else None
        if judge is not None:
            finding: Finding | None = judge(told)
            return finding
    return None

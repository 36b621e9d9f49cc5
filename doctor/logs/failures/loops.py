"""Logs that end in a loop: the same line again and again, which says that something is waited for.

Whoever polls for what another thread or process should bring is often not told that it failed. One such line, or a few
while an engine starts, mean nothing: the loop has to have gone on for long, by its counter or by the stamps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.base.redact import redact_text
from doctor.catalogue.finding import Finding, Where
from doctor.catalogue.index import Entry
from doctor.catalogue.problem_files import function_of
from doctor.catalogue.stillness import Loop
from doctor.logs.failures.case import Case
from doctor.logs.lines.prefixes import strip
from doctor.logs.metrics.courses import settings_of

_AREA = "launch"
#: what says that something is waited for
_WAITS = later(
    r"(?i)\bwait(?:s|ing|ed)?\b|\bnot (?:yet )?ready\b|\bready ?= ?False\b|\bretry(?:ing)?\b|\bstill (?:no|not)\b"
)
_NUMBER = later(r"\d+(?:\.\d+)?")
_LEAST, _MOST = 3, 2_000  # lines
#: how far it has come, and words of the others that nothing is under way, or that there is no room for more
_OF_ALL = later(r"(?P<came>\d{1,7}) ?(?:/|of) ?(?P<all>\d{1,7})\b")
_IDLE = later(
    r"(?i)\b(?P<what>(?:capacity|free slots?|slots|quota|permits?|budget|credits?|available(?: \w+)?)"
    r"[ :=]{1,3}0(?![\d.]))"
)
_NONE_RUNS = later(
    r"(?i)#?\b(?P<what>(?:running|active|in[_-]?flight)(?:[_ -]?(?:reqs?|requests?|tasks?))?[ :=]{1,3}0(?![\d.]))"
)
_LIMITS = later(r"(?i)capacity|concurren|staleness|off_?policy|max_\w*(?:in_?flight|pending|outstanding|running)")
_COUNTED, _SECONDS = 100, 600.0
_NS = 1_000_000_000
_LONGEST = 160


def find(case: Case, entries: Iterable[Entry]) -> Finding | None:
    """What the catalogue says of a log that ends in a loop; None for every other."""
    if case.marks.success is not None or case.last is None:
        return None
    place = case.last.source
    loop = None
    if place < len(case.kept) and place not in case.backwards:
        loop = _loop(case, place, case.kept[place]) or _standing(case, place, case.kept[place])
    if loop is None:
        return None
    for entry in entries:
        if entry.area == _AREA and not (entry.has_rule or entry.has_signatures or entry.checks):
            judge = function_of(entry, "of_loop")
            if judge is not None:
                finding: Finding = judge(loop)
                return finding
    return None


def _loop(case: Case, place: int, lines: Sequence[tuple[int, str]]) -> Loop | None:
    tail = [(number, strip(text)) for number, text in lines[-_MOST:] if text.strip()]
    if len(tail) < _LEAST or not _WAITS.search(tail[-1][1].text):
        return None
    shape = _NUMBER.sub("#", tail[-1][1].text)
    same = []
    for number, stripped in reversed(tail):
        if _NUMBER.sub("#", stripped.text) != shape:
            break
        same.append((number, stripped))
    if len(same) < _LEAST or not _is_long([each.text for _, each in same], [each.time_ns(2000) for _, each in same]):
        return None
    number, last = same[0]
    path = case.sources[place].path
    text = redact_text(last.text.strip())[:_LONGEST]
    failed = next((each for each in case.failures if each.first.number < number or each.first.source != place), None)
    quotes = [Observed.quoted(path, text, number)]
    said = ""
    if failed is not None:
        said = redact_text(
            f"{failed.cause.name or failed.cause.type}: {' '.join(failed.cause.message.split(chr(10))[0].split())}"
        )[:_LONGEST]
        quotes.insert(0, Observed.quoted(failed.cause.line.file, said, failed.cause.line.number))
    return Loop(text.replace("`", "'"), said.replace("`", "'"), Where(file=path, line=number), tuple(quotes))


def _standing(case: Case, place: int, lines: Sequence[tuple[int, str]]) -> Loop | None:
    """A count that does not move any more, told again and again among lines of others that have nothing to do."""
    tail = [(number, strip(text).text.strip()) for number, text in lines[-_MOST:] if text.strip()]
    number, last = tail[-1] if tail else (0, "")
    counted = _OF_ALL.search(last)
    if counted is None or not _WAITS.search(last) or int(counted["came"]) >= int(counted["all"]):
        return None
    same = [at for at, (_, text) in enumerate(tail) if text == last]
    if len(same) < _LEAST or case.failures:
        return None
    others = [(at, text) for at, text in tail if text != last]
    full = next(((at, match["what"]) for at, text in reversed(others) if (match := _IDLE.search(text))), None)
    none = next(((at, match["what"]) for at, text in reversed(others) if (match := _NONE_RUNS.search(text))), None)
    idle = full or none
    if idle is None:
        return None
    path = case.sources[place].path
    quotes = [Observed.quoted(path, redact_text(last)[:_LONGEST], number)]
    quotes += [Observed.quoted(path, redact_text(text)[:_LONGEST], at) for at, text in others if at == idle[0]]
    made = settings_of(case).items()
    limits = tuple(f"{name}={value}" for name, value in made if "." not in name and _LIMITS.search(name))[:_LEAST]
    text = redact_text(last)[:_LONGEST].replace("`", "'")
    return Loop(text, "", Where(file=path, line=number), tuple(quotes), idle[1], limits)


def _is_long(texts: Sequence[str], times: Sequence[int | None]) -> bool:
    """Whether a loop, newest line first, has gone on for long, by a number that counts up, or by its stamps."""
    known = [each for each in times if each is not None]
    if known and known[0] - known[-1] >= _SECONDS * _NS:
        return True
    rows = [[float(each) for each in re.findall(r"\d+(?:\.\d+)?", text)] for text in texts[:_LEAST]]
    columns = zip(*rows, strict=True)
    return any(column[0] >= _COUNTED and all(a > b for a, b in pairwise(column)) for column in columns)

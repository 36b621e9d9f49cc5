"""What the ranks were doing that did not come to the collective in which the others waited until the time-out.

Who reports a time-out is not who caused it. A rank that says nothing of it has often said just before what it waits
for, and the others have gone on into a collective without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.base.record import replace
from doctor.base.redact import redact_text
from doctor.catalogue.finding import Finding
from doctor.catalogue.index import Entry
from doctor.catalogue.problem_files import function_of
from doctor.logs.failures.case import Case
from doctor.logs.lines.prefixes import strip

_WAITS = later(
    r"(?i)\bwait(?:s|ing)? (?:for|on|until) (?P<what>[^\n]{3,110}?)"
    r"(?=\s*(?:$|[,;:(!]|\.(?:\s|$)|\bto (?:be|finish|complete|appear)\b|\bfor \d|\bafter \d))"
)
_RANK = later(r"(?i)(?<!local_)(?<!local )\brank\s?[=:]?\s?(?P<rank>\d{1,6})\b")
_WATCHDOG = later(r"Watchdog caught collective operation timeout")
_HEAD, _MOST_LINES = 80, 2_000


def told(findings: Sequence[Finding], case: Case, entries: Mapping[str, Entry]) -> tuple[Finding, ...]:
    """The findings; the first, where it is about ranks that did not come, with what one of them waited for.

    Args:
        findings: root cause first.
        case: what the logs say.
        entries: the catalogue; a problem whose file declares ``of_absent(finding, rank, what) -> Finding`` words it.

    """
    first = findings[0] if findings else None
    if first is None or not first.values.get("absent"):
        return tuple(findings)
    entry = entries.get(first.problem.id)
    judge = function_of(entry, "of_absent") if entry is not None else None
    found = _last_wait(case) if judge is not None else None
    if judge is None or found is None:
        return tuple(findings)
    rank, what, quote = found
    better: Finding = judge(first, rank, what)
    return (replace(better, evidence=(*better.evidence, quote)), *findings[1:])


def _last_wait(case: Case) -> tuple[int, str, Observed] | None:
    """(rank, for what it waits, line) of a rank whose last word before the time-out says that it waits."""
    for place, kept in enumerate(case.kept):
        lines = kept[-_MOST_LINES:]
        reported = {rank for _, text in lines if _WATCHDOG.search(text) and (rank := _rank(text)) is not None}
        if not reported:
            continue
        last: dict[int, tuple[int, str]] = {}
        for number, text in lines:
            rank = _rank(text)
            if rank is not None and rank not in reported:
                last[rank] = (number, text)
        for rank, (number, text) in sorted(last.items()):
            if match := _WAITS.search(text):
                what = redact_text(" ".join(match["what"].split()), homes=False).replace("`", "'")
                return rank, what, Observed.quoted(case.sources[place].path, redact_text(text.strip())[:300], number)
    return None


def _rank(text: str) -> int | None:
    stripped = strip(text)
    if stripped.rank is not None:
        return stripped.rank
    match = _RANK.search(text[:_HEAD])
    return int(match["rank"]) if match else None

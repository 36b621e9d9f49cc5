"""Lines of several ranks that should tell different things of each, and tell the same: samples, rows, seeds.

Ranks that share the work of a batch each print what they took. Where two of them print the same prompt, row or
completion, the batch holds it twice. Ranks of one tensor, pipeline or context parallel group see the same rows by
design, so a command that names such a size tells nothing here.
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
from doctor.logs.metrics.courses import settings_of

_AREA = "launch"
_RANK = later(r"(?i)\b(?:dp[_ -]?|data[_ -]parallel[_ -]|global[_ -]?)?rank[\s:=]{0,2}(?P<rank>\d{1,5})\b")
#: what a rank takes as its share of a batch
_SHARE = later(
    r"(?i)\b(?:samples?|rows?|prompts?|completions?|responses?|traj(?:ectory)?|shards?|index|indices|idx|rollouts?|seed"
    r"|batch_?ids?|data_?ids?|uids?)\b"
)
#: identities in such a line: numbers with a name, or quoted text
_IDENTITY = later(r"(?i)(?:\b[a-z_]{3,20}[=:] ?\d+|'[^'\n]{12,400}'|\"[^\"\n]{12,400}\"|\[\d+(?:, ?\d+){2,})")
_SHARED = later(r"(?i)(?:tensor|pipeline|context|sequence|expert).{0,12}(?:parallel|size)|^[tpcse]p(?:_size)?$")
_SLOT = later(r"(?i)\b(?:sample|answer|completion)[\s:=#]{1,2}\d{1,4}(?=\s*[:=])")
_LEAST, _EXCERPT, _LONGEST = 2, 60, 1_000


def find(case: Case, entries: Iterable[Entry]) -> Finding | None:
    """What the catalogue says where ranks print the same share of a batch; None for every other log."""
    if case.failures or case.exits or case.lines > _EXCERPT or not case.whole:
        return None
    for place, kept in enumerate(case.kept):
        told = _told(case, place, kept)
        if told is not None:
            for entry in entries:
                judge = function_of(entry, "of_words") if entry.area == _AREA else None
                if judge is not None:
                    finding: Finding | None = judge(told)
                    return finding
    return None


def _told(case: Case, place: int, lines: Sequence[tuple[int, str]]) -> Spoken | None:
    shares: dict[str, dict[str, int]] = {}
    for number, whole in lines:
        text = whole[:_LONGEST]
        rank = _RANK.search(text)
        if rank is None or not _SHARE.search(text):
            continue
        rest = text[: rank.start()] + text[rank.end() :]
        rest = " ".join(_SLOT.sub("", rest).split())
        if _IDENTITY.search(rest):
            shares.setdefault(rest, {}).setdefault(rank["rank"], number)
    ranks = {rank for each in shares.values() for rank in each}
    alike = {text: each for text, each in shares.items() if len(each) >= _LEAST}
    if not alike or len(alike) < len(shares) or _share_rows(case):
        return None  # where some differ, the ones that agree may be told of chance
    if sum(map(len, alike.values())) < 2 * _LEAST and len(ranks) <= _LEAST:
        return None  # two lines alone
    path = case.sources[place].path
    texts = dict(lines)
    numbers = sorted(number for each in alike.values() for number in each.values())[:3]
    quotes = tuple(Observed.quoted(path, redact_text(texts[number].strip())[:300], number) for number in numbers)
    named = ", ".join(sorted(ranks, key=int)[:8])
    return Spoken("alike", named, Where(file=path, line=numbers[0]), quotes, times=len(alike))


def _share_rows(case: Case) -> bool:
    """Whether ranks see the same rows by design."""
    return any(
        _SHARED.search(name.rpartition(".")[2]) and isinstance(value, int) and not isinstance(value, bool) and value > 1
        for name, value in settings_of(case).items()
    )

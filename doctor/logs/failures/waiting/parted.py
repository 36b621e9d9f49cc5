"""Ranks that wait in different collectives, beside what else tells how they came to part.

Settings by which the work of a rank depends on its data, and the last lines of each process before the wait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

from doctor.base.patterns import later
from doctor.base.record import replace
from doctor.base.redact import redact_text
from doctor.catalogue.finding import Finding
from doctor.logs.failures.case import Case
from doctor.logs.metrics.courses import settings_of

#: the number of micro-batches, or the branch, then follows from the rows that a rank has
_BY_DATA = later(
    r"(?i)dynamic_(?:bsz|batch|sampl)|use_dynamic|(?:^|_)packing|packing_samples|neat_packing|padding_free"
)
#: names of models with experts, and of the stage that gathers what a forward pass reaches
_EXPERTS = later(r"(?i)-a\d{1,3}b\b|mixtral|\bmoe\b|moe-|deepseek-v[23]|num_experts")
_STAGE_3 = later(r"(?i)zero[_-]?(?:stage)?[ =_:\"'.]{0,6}3\b|zero_optimization_stage \.{3,} 3\b")
#: the values by which such a finding tells where the ranks are
_ITS = ("ways", "experts")
_MOST = 3
#: who prints a line, as vLLM and Ray write it before each, and what a level, a stamp and a place are behind it
_WHO = later(r"^\((?P<who>[A-Za-z][\w.]{0,60})(?: (?:rank|pid)=\d{1,10})*\) (?P<rest>\S.*)")
_STAMP = later(r"^(?:(?:DEBUG|INFO|WARNING|ERROR)\b:?|\d[\d:.,\-T/]*|\[[\w./]{1,60}\.py:\d{1,5}\]|\s)+")
_WATCHDOG = later(r"Watchdog caught collective operation timeout")
_OWN_WORDS, _PROCESSES, _LONGEST = 2, 4, 90


def told(findings: Sequence[Finding], case: Case) -> tuple[Finding, ...]:
    """The findings, the first one with what settings say of ranks that part."""
    first = findings[0] if findings else None
    if first is None or not all(each in first.values for each in _ITS):
        return tuple(findings)
    made = settings_of(case)
    shown = "\n".join([case.given.text[:20_000], *(text[:2_000] for kept in case.kept for _, text in kept[:_HEAD])])
    values = {
        **first.values,
        "settings": ", ".join(f"`{each}`" for each in _named(made)),
        "words": _last_words(case),
        "experts": bool(_EXPERTS.search(shown) and _STAGE_3.search(shown)),
    }
    return (replace(first, values=values), *findings[1:])


_HEAD = 400


def _last_words(case: Case) -> str:
    """What each process printed last before the wait ended, where several print and their last lines differ."""
    said: dict[str, list[str]] = {}
    for kept in case.kept:
        for _, text in takewhile(lambda each: _WATCHDOG.search(each[1]) is None, kept):
            match = _WHO.match(text[:1_000])
            words = _STAMP.sub("", match["rest"])[:_LONGEST].strip(" .") if match else ""
            if match and words:
                said.setdefault(match["who"], []).append(redact_text(words, homes=False).replace("`", "'"))
    last = {who: said[who][-_OWN_WORDS:] for who in sorted(said)}
    if not 1 < len(last) <= _PROCESSES or len({each[-1] for each in last.values()}) == 1:
        return ""
    return "; ".join(f"{who}: " + ", then ".join(f"`{each}`" for each in words) for who, words in last.items())


def _named(made: Mapping[str, object]) -> tuple[str, ...]:
    on = {name: value for name, value in made.items() if value is True and _BY_DATA.search(name.rpartition(".")[2])}
    whole = [name for name in on if "." in name or not any(other.endswith(f".{name}") for other in on)]
    return tuple(f"{name}=True" for name in whole[:_MOST])

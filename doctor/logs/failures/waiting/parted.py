"""Ranks that wait in different collectives, beside the settings by which the work of a rank depends on its data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from doctor.base.patterns import later
from doctor.base.record import replace
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
        "experts": bool(_EXPERTS.search(shown) and _STAGE_3.search(shown)),
    }
    return (replace(first, values=values), *findings[1:])


_HEAD = 400


def _named(made: Mapping[str, object]) -> tuple[str, ...]:
    on = {name: value for name, value in made.items() if value is True and _BY_DATA.search(name.rpartition(".")[2])}
    whole = [name for name in on if "." in name or not any(other.endswith(f".{name}") for other in on)]
    return tuple(f"{name}=True" for name in whole[:_MOST])

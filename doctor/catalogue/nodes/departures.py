"""Who departs from the majority, put into findings: nodes that depart alike are told together.

Where no value has a majority nobody is said to be wrong, and that is told as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from doctor.base.evidence import Observed
from doctor.base.record import record
from doctor.catalogue.finding import CONFIRMED, Confidence, Finding, Message, Where, found, said
from doctor.catalogue.nodes.compare import Compared, Value
from doctor.catalogue.nodes.hosts import folded
from doctor.catalogue.problem import Problem, Severity
from doctor.catalogue.reasons import translated

_FINDINGS = 6  # groups of departing nodes with a finding of their own; the rest share one
_TOLD = 2  # readings in a headline
_PROVED = 8  # readings in the evidence


@record
class Item:
    """A reading, and the value that the departing nodes have; None where each of several has its own."""

    compared: Compared
    value: Value | None

    def told(self, language: str) -> str:
        """`torch` 2.5.1 ≠ 2.6.0."""
        usual = self.compared.majority
        own = self.value.text if self.value else "..."
        name = name_of(self.compared, language)
        return f"`{name}` {own} ≠ {usual.text}" if usual else f"`{name}`"


def name_of(row: Compared, language: str) -> str:
    """Name of a reading; variables are called the same in every language."""
    return row.name if row.area == "environment" else translated(row.name, language, "readings")


@record
class Departure:
    """Nodes that depart from the majority, and in what; `others` have the majority's value of the first reading."""

    hosts: tuple[str, ...]
    items: tuple[Item, ...]

    @property
    def others(self) -> int:
        """How many nodes have the usual value."""
        usual = self.items[0].compared.majority
        return len(usual.hosts) if usual else 0


def departures(rows: Iterable[Compared]) -> list[Departure]:
    """Nodes that depart in some of the rows, those with the same nodes together, the fewest nodes last."""
    groups: dict[frozenset[str], list[Item]] = {}
    for row in rows:
        usual = row.majority
        for value in row.values if usual else ():
            if value is not usual:
                groups.setdefault(frozenset(value.hosts), []).append(Item(row, value))
    ordered = sorted(groups.items(), key=lambda item: (-len(item[0]), min(item[0])))
    return [Departure(tuple(sorted(hosts)), tuple(items)) for hosts, items in ordered]


def told_apart(
    problem: Problem,
    odd: Message,
    split: Message,
    rows: Iterable[Compared],
    *,
    severity: Severity | None = None,
    confidence: Confidence = CONFIRMED,
    commands: tuple[str, ...] = (),
) -> Iterator[Finding]:
    """A finding for each group of nodes that depart alike, and one for each way in which readings halve the nodes.

    `odd` has the braces {hosts}, {others} and {told}; `split` has {name}, {seen} and {told}.
    """
    rows = [row for row in rows if row.differs]
    groups = departures(rows)
    for each in [*groups[:_FINDINGS], *_rest(groups[_FINDINGS:])]:
        yield found(
            problem, odd, severity=severity, confidence=confidence, commands=commands, nodes=each.hosts,
            where=Where(host=each.hosts[0]), evidence=tuple(_proof(item.compared) for item in each.items[:_PROVED]),
            hosts=folded(each.hosts, 3), others=each.others,
            told=said(_told(each.items, "en"), _told(each.items, "zh")),
        )  # fmt: skip
    for alike in _parted(rows):
        row, hosts = alike[0], tuple(host for value in alike[0].values for host in value.hosts)
        yield found(
            problem, split, severity=severity, confidence=confidence, commands=commands, nodes=hosts,
            evidence=tuple(_proof(each) for each in alike[:_PROVED]), seen=row.seen,
            name=said(row.name, name_of(row, "zh")), told=said(_told_split(alike, "en"), _told_split(alike, "zh")),
        )  # fmt: skip


def _parted(rows: Iterable[Compared]) -> list[list[Compared]]:
    """Readings without a majority; those that part the nodes in the same way together: two nodes may differ in many."""
    groups: dict[frozenset[tuple[str, ...]], list[Compared]] = {}
    for row in rows:
        if row.majority is None:
            groups.setdefault(frozenset(value.hosts for value in row.values), []).append(row)
    return list(groups.values())


def _told_split(alike: list[Compared], language: str) -> str:
    """2.5.1 (4), 2.6.0 (4); and 7 more readings."""
    values = alike[0].values
    told = ", ".join(f"{value.text} ({len(value.hosts)})" for value in values[:4]) + (" ..." if len(values) > 4 else "")
    more = len(alike) - 1
    if not more:
        return told
    return f"{told};另有 {more} 项" if language == "zh" else f"{told}; and {more} more reading{'s' if more > 1 else ''}"


def _rest(groups: list[Departure]) -> list[Departure]:
    """Many small groups as one."""
    if len(groups) < 2:
        return groups
    rows = {id(item.compared): item.compared for each in groups for item in each.items}
    hosts = tuple(sorted({host for each in groups for host in each.hosts}))
    return [Departure(hosts, tuple(Item(row, None) for row in rows.values()))]


def _told(items: tuple[Item, ...], language: str) -> str:
    told = ", ".join(each.told(language) for each in items[:_TOLD])
    return f"{told}, +{len(items) - _TOLD}" if len(items) > _TOLD else told


def _proof(row: Compared) -> Observed:
    """All values of a reading with their nodes; `?` stands for nodes that do not report it."""
    values = [f"{value.text} [{len(value.hosts)}: {folded(value.hosts, 4)}]" for value in row.values[:6]]
    values += ["..."] if len(row.values) > 6 else []
    values += [f"? [{len(row.unseen)}: {folded(row.unseen, 4)}]"] if row.unseen else []
    return Observed.quoted(row.name, " · ".join(values))

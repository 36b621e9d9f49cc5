"""What several nodes have alike, told once: one finding that counts and names them, one reason with their number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from doctor.base.evidence import Observed
from doctor.base.record import replace
from doctor.catalogue.finding import Finding
from doctor.catalogue.nodes.hosts import folded
from doctor.catalogue.outcome import Skipped

_OTHERS_SHOWN = 6  # other wordings of the same problem, as evidence
_RANGES_SHOWN = 6


def joined_findings(
    parts: Iterable[tuple[Iterable[Finding], Iterable[str]]], language: str = "en"
) -> Iterator[Finding]:
    """(findings, hosts that have them) -> one finding for each problem at a place, whatever numbers it holds."""
    groups: dict[tuple[Any, ...], list[tuple[Finding, list[str]]]] = {}
    for findings, hosts in parts:
        for each in findings:
            groups.setdefault(_kind(each), []).append((each, list(hosts)))
    for group in groups.values():
        yield _one(group, language)


def _kind(finding: Finding) -> tuple[Any, ...]:
    """What makes two findings the same problem: all but the numbers and names in their words."""
    where = finding.where
    place = (where.file, where.line, where.column, where.rank, where.module)
    return finding.problem.id, finding.message, finding.severity, finding.confidence, finding.role, place


def _one(group: list[tuple[Finding, list[str]]], language: str) -> Finding:
    """The finding as most nodes have it; what others have otherwise is evidence."""
    wordings: dict[str, tuple[Finding, list[str]]] = {}
    for finding, hosts in group:
        wordings.setdefault(finding.words(language).headline, (finding, []))[1].extend(hosts)
    ordered = sorted(wordings.items(), key=lambda item: (-len(item[1][1]), item[1][1][0]))
    first = ordered[0][1][0]
    nodes = tuple(dict.fromkeys(host for _, (_, hosts) in ordered for host in hosts))
    where = replace(first.where, host=nodes[0])
    others = [Observed.quoted(folded(hosts, _RANGES_SHOWN), headline) for headline, (_, hosts) in ordered[1:]]
    left = len(others) - _OTHERS_SHOWN
    if left > 0:
        others = [*others[:_OTHERS_SHOWN], Observed.quoted("...", f"+{left}")]
    named = [Observed.quoted("nodes", folded(nodes, _RANGES_SHOWN))] if len(nodes) > 1 else []
    return replace(first, where=where, evidence=(*first.evidence, *others, *named), nodes=nodes)


def joined_skips(parts: Iterable[tuple[Iterable[Skipped], list[str]]], heard: int) -> Iterator[Skipped]:
    """Each reason once; one that holds for some of the nodes says for how many."""
    hosts: dict[tuple[str, str], int] = {}
    for skipped, of in parts:
        for key in {(each.id, each.reason) for each in skipped}:
            hosts[key] = hosts.get(key, 0) + len(of)
    for (problem, reason), count in hosts.items():
        yield Skipped(problem, reason if count >= heard else f"on {count} of {heard} nodes: {reason}")

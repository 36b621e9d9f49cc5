"""Judges node-absent-from-measurement (NCC024), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Where, found
from doctor.catalogue.nodes.hosts import folded
from doctor.catalogue.nodes.measured import Measured
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.words import words_of
from doctor.facts.cluster import Cluster
from doctor.facts.collectives import Process

TOML = words_of(__name__)
PROBLEM = TOML.problem
NOT_SHARED = TOML["not_shared"]
MISSING = TOML["missing"]
DIED = TOML["died"]
FAILED = TOML["failed"]


#: phases of the measurement, in their order
_PHASES = ("import", "store", "meeting", "products", "group", "pairs", "repeats", "rings")
_QUOTED = 3


@check(PROBLEM)
def node_absent_from_measurement(cluster: Cluster) -> Judgement:
    """The earliest cause alone: a folder that is not shared, who never came, who died, who failed."""
    measured = Measured(cluster)
    if not measured.parts:
        return
    if _alone(measured):
        yield found(PROBLEM, NOT_SHARED, expected=measured.nodes, where=Where(host=measured.name(min(measured.parts))))
        return
    yield from _missing(measured)
    died = _first_to_die([(node, each) for node, each in measured.processes() if each.outcome == "died"])
    failed = [(node, each) for node, each in measured.processes() if each.outcome in ("error", "timeout")]
    quotes = tuple(Observed.quoted(measured.name(node), each.error) for node, each in failed if each.error)[:_QUOTED]
    for node, process in died:
        yield _died(measured, node, process, quotes)
    if failed and not died:
        yield _failed(measured, failed, quotes)


def _alone(measured: Measured) -> bool:
    """Whether several nodes waited in a folder, each for all the others."""
    waited = [(node, each) for node, each in measured.processes() if each.members is not None]
    through_folder = all(part.told.shared_by == "folder" for part in measured.parts.values())
    return (
        through_folder
        and len({node for node, _ in waited}) > 1
        and all(set(each.missing) == set(range(measured.nodes)) - {node} for node, each in waited)
    )


def _first_to_die(died: list[tuple[int, Process]]) -> list[tuple[int, Process]]:
    """Without those that torch aborted (SIGABRT), where another was killed: they lost their partner."""
    return [each for each in died if each[1].signal != "SIGABRT"] or died


def _missing(measured: Measured) -> Iterator[Finding]:
    """Nodes that the others did not see; why, where a file of theirs says so."""
    missing = sorted({node for _, process in measured.processes() for node in process.missing})
    if not missing:
        return
    said = [
        Observed.quoted(measured.name(node), f"ended in phase `{each.phase}`: {each.error or each.outcome}")
        for node in missing
        if (part := measured.parts.get(node)) is not None
        for each in part.told.processes
    ]
    yield found(
        PROBLEM,
        MISSING,
        who=f"`{folded(map(measured.name, missing), 6)}`",
        came=measured.nodes - len(missing),
        expected=measured.nodes,
        confidence=CONFIRMED,
        where=Where(host=measured.name(missing[0])),
        evidence=tuple(said[:_QUOTED]),
    )


def _died(measured: Measured, node: int, process: Process, quotes: tuple[Observed, ...]) -> Finding:
    return found(
        PROBLEM,
        DIED,
        who=f"`{measured.name(node)}`",
        signal=process.signal,
        during=TOML.phrases("during").get(process.phase or "", ""),
        confidence=CONFIRMED,
        where=Where(host=measured.name(node), gpu=process.gpu),
        commands=("dmesg -T | tail -50",),
        evidence=quotes,
    )


def _failed(measured: Measured, failed: list[tuple[int, Process]], quotes: tuple[Observed, ...]) -> Finding:
    """All failures as one: the node that failed in the earliest part is the likeliest to have begun it."""
    node, first = min(failed, key=lambda each: _PHASES.index(each[1].phase) if each[1].phase in _PHASES else 0)
    phase = first.phase if first.phase in _PHASES else "import"
    together = first.phase in ("group", "pairs", "repeats", "rings")
    nodes = sorted({measured.name(each) for each, process in failed if process.phase == first.phase})
    return found(
        PROBLEM,
        FAILED,
        who=f"`{folded(nodes, 6)}`",
        what=TOML.phrase(f"what.{phase}"),
        severity=ERROR if together else WARNING,
        confidence=LIKELY if together else CONFIRMED,
        where=Where(host=measured.name(node), gpu=first.gpu),
        evidence=quotes
        or (Observed.quoted(measured.name(node), f"no answer in phase `{first.phase}` before the time was up"),),
    )

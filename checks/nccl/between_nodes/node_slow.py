"""Judges node-slow (NCC022), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Skip, Where, found
from doctor.catalogue.nodes.measured import Cost, Measured, SlowEnd
from doctor.catalogue.words import words_of
from doctor.checks.nccl._measured import bandwidth, latency, who
from doctor.facts.cluster import Cluster

TOML = words_of(__name__)
PROBLEM = TOML.problem
BANDWIDTH = TOML["bandwidth"]
LATENCY = TOML["latency"]
INSIDE = TOML["inside"]
HALVES = TOML["halves"]


_TOLD = {"bandwidth": bandwidth, "latency": latency}


@check(PROBLEM)
def node_slow(cluster: Cluster) -> Judgement:
    """Bandwidth first; a latency adds a finding only where the bandwidth has none."""
    measured = Measured(cluster)
    if not measured.parts:
        return
    if len({each.node_a for each in measured.exchanges(inside=False)}) < 2:
        yield Skip("fewer than three nodes exchanged messages, so there is nothing to compare a link with")
    costs: tuple[Cost, Cost] = ("bandwidth", "latency")
    known: set[tuple[int, int | None, bool]] = set()
    for cost in costs:
        for end in measured.slow_ends(cost):
            if (end.node, end.local, end.inside) not in known:
                known.add((end.node, end.local, end.inside))
                yield _finding(measured, end)
    if not known and not measured.whole:
        yield from _by_halves(measured)


def _by_halves(measured: Measured) -> Judgement:
    """Where the time was not enough for the pairs: what the rings over halves of the nodes spell."""
    found_by_halves = measured.slow_by_halves()
    if found_by_halves is None:
        return
    node, factor = found_by_halves
    name = measured.name(node)
    text = f"for each binary digit of its number ({node}) the half with it was {factor:.1f} times slower or more"
    yield found(
        PROBLEM,
        HALVES,
        who=f"`{name}`",
        factor=f"{factor:.1f}",
        confidence=LIKELY,
        where=Where(host=name),
        evidence=(Observed.quoted("doctor check --deep", text),),
    )


def _finding(measured: Measured, end: SlowEnd) -> Finding:
    told, slow = _TOLD[end.cost], end.slow
    name = who(measured, end.node, end.local)
    message = INSIDE if end.inside else BANDWIDTH if end.cost == "bandwidth" else LATENCY
    process = measured.process(end.node, end.local) if end.local is not None else None
    text = (
        f"median {end.cost} of its pairs {told(slow.own)}, of the pairs without it {told(slow.others)}: "
        f"{slow.factor:.1f} times slower, {slow.sigmas:.0f} standard deviations of the noise"
    )
    return found(
        PROBLEM,
        message,
        who=name,
        own=told(slow.own),
        others=told(slow.others),
        confidence=CONFIRMED if end.again and slow.factor >= 2 else LIKELY,
        where=Where(host=measured.name(end.node), gpu=process.gpu if process else None),
        commands=("ip -s -br link; ibstat", "nvidia-smi topo -m"),
        evidence=(Observed.quoted("doctor check --deep", text),),
    )

"""Judges link-slow (NCC023), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Where, found
from doctor.catalogue.nodes.measured import Cost, Measured
from doctor.catalogue.words import words_of
from doctor.checks.nccl._measured import bandwidth, latency, who
from doctor.facts.cluster import Cluster

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
RAIL = TOML["rail"]


@check(PROBLEM)
def link_slow(cluster: Cluster) -> Judgement:
    """Each pair once: by its bandwidth, else by its latency."""
    measured = Measured(cluster)
    known: set[tuple[int, int]] = set()
    costs: tuple[Cost, Cost] = ("bandwidth", "latency")
    for cost in costs:
        told = bandwidth if cost == "bandwidth" else latency
        for slow, times in measured.slow_links(cost):
            if slow.who in known:
                continue
            known.add(slow.who)
            a, b = (measured.name(node) for node in slow.who)
            text = (
                f"{cost} of `{a}` and `{b}` {told(slow.own)} at best in {times} measurements, median of the other "
                f"pairs {told(slow.others)}, {slow.sigmas:.0f} standard deviations of the noise"
            )
            yield found(
                PROBLEM,
                MESSAGE,
                a=a,
                b=b,
                factor=f"{slow.factor:.1f}",
                own=told(slow.own),
                others=told(slow.others),
                confidence=CONFIRMED if times > 2 else LIKELY,
                where=Where(host=a),
                evidence=(Observed.quoted("doctor check --deep", text),),
            )


@check(PROBLEM)
def rail_slow(cluster: Cluster) -> Judgement:
    """Of two nodes alone the pairs of their GPUs are compared with each other."""
    measured = Measured(cluster)
    known: set[object] = set()
    costs: tuple[Cost, Cost] = ("bandwidth", "latency")
    for cost in costs:
        told = bandwidth if cost == "bandwidth" else latency
        for slow, times in measured.slow_rails(cost):
            if slow.who in known:
                continue
            known.add(slow.who)
            first, second = (who(measured, *end) for end in slow.who)
            text = f"{cost} {told(slow.own)} at best in {times} measurements, median of the others {told(slow.others)}"
            yield found(
                PROBLEM,
                RAIL,
                a=first,
                b=second,
                factor=f"{slow.factor:.1f}",
                own=told(slow.own),
                others=told(slow.others),
                confidence=LIKELY,
                where=Where(host=measured.name(slow.who[0][0])),
                evidence=(Observed.quoted("doctor check --deep", text),),
            )

"""Judges far-below-port-rate (NCC030), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.base.evidence import Observed
from doctor.base.stats import median_of_sorted
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.nodes.measured import Measured
from doctor.catalogue.words import words_of
from doctor.checks.nccl._measured import bandwidth
from doctor.facts.cluster import Cluster, ClusterNode

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


SHARE = 0.2
_PCIE_GB_S = 12.0  # what a GPU in a slot of PCIe 3.0 x16 moves in one direction


@check(PROBLEM)
def far_below_port_rate(cluster: Cluster) -> Judgement:
    """All pairs of nodes that NCCL measured and whose ports are known; one slow pair among others is NCC023."""
    pairs = sorted(_pairs(Measured(cluster)), key=lambda each: each[0] / each[1])
    if not pairs or median_of_sorted([own / ports for own, ports in pairs]) > SHARE:
        return
    own, ports = pairs[len(pairs) // 2]
    yield found(
        PROBLEM,
        MESSAGE,
        own=bandwidth(1 / own),
        ports=bandwidth(1 / ports),
        confidence=LIKELY,
        commands=("ibstat", "ulimit -l", "ls /dev/infiniband"),
        evidence=(
            Observed.quoted(
                "doctor check --deep", f"{100 * own / ports:.0f} % of the ports, median of {len(pairs)} pairs"
            ),
        ),
    )


def _pairs(measured: Measured) -> Iterator[tuple[float, float]]:
    """(GB/s of all GPUs that two nodes exchanged at a time, GB/s that their ports carry) of each pair of nodes."""
    nccl = {number for number, process in measured.processes() if process.backend == "nccl"}
    sums: dict[tuple[int, int], list[float]] = {}
    for each in measured.samples("bandwidth", inside=False):
        a, b = sorted((measured.node_of(each.a), measured.node_of(each.b)))
        sums.setdefault((a, b), []).append(1 / each.cost)
    for (a, b), speeds in sums.items():
        rates = [_rate(measured.parts[node].node) if node in measured.parts else 0.0 for node in (a, b)]
        if {a, b} <= nccl and min(rates) > 0:
            yield sum(speeds), min(*rates, _PCIE_GB_S * len(speeds))


def _rate(node: ClusterNode) -> float:
    """GB/s of the active InfiniBand ports of a node."""
    told = node.value("node")
    ports = told.ports if told is not None else ()
    return sum(
        (each.rate_gbps or 0.0) / 8 for each in ports if each.state == "ACTIVE" and each.link_layer == "InfiniBand"
    )

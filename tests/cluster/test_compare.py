"""The pieces of the comparison: folded names, tolerances, majorities, who is compared with whom."""

from __future__ import annotations

import pytest

from doctor.base.evidence import Observed
from doctor.catalogue.nodes.compare import NodeReading, compare
from doctor.catalogue.nodes.departures import departures
from doctor.catalogue.nodes.hosts import folded
from doctor.catalogue.nodes.readings import READINGS, named
from doctor.facts.cluster import Cluster, ClusterNode
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpu, Gpus
from doctor.facts.nvidia import Nvidia


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["node1"], "node1"),
        (["node2", "node1", "node3"], "node[1-3]"),
        (["node001", "node002", "node037"], "node[001-002,037]"),
        (["node099", "node100"], "node[099-100]"),
        (["node9", "node10"], "node[9-10]"),
        (["a1.x.org", "a2.x.org", "b1.x.org"], "a[1-2].x.org,b1.x.org"),
        (["ip-10-0-0-5", "ip-10-0-0-6"], "ip-10-0-0-[5-6]"),
        (["head", "worker"], "head,worker"),
        (["a", "a"], "a"),
        ([], ""),
    ],
)
def test_names_are_folded_as_slurm_does(names: list[str], told: str) -> None:
    assert folded(names) == told


def test_no_more_ranges_than_asked_for() -> None:
    assert folded([f"n{i}" for i in range(0, 20, 2)], 2) == "n[0,2,...]"


def nodes(*offsets: float | None) -> Cluster:
    return Cluster("folder", tuple(ClusterNode(f"n{i}", clock_offset_s=each) for i, each in enumerate(offsets)))


def values(cluster: Cluster, **how: float) -> list[tuple[str, int]]:
    (row,) = compare(cluster, [NodeReading("r", "host", None, lambda node: node.clock_offset_s, **how)])
    return [(each.text, len(each.hosts)) for each in row.values]


def test_numbers_within_the_tolerance_are_one_value() -> None:
    assert values(nodes(100.0, 101.0, 102.0, 150.0), tolerance=0.03) == [("100.0", 3), ("150.0", 1)]
    assert values(nodes(0.0, 0.4, -0.3, 9.0), absolute=1.0) == [("-0.3", 3), ("9.0", 1)]


def test_a_chain_of_small_steps_is_not_one_value() -> None:
    assert len(values(nodes(100.0, 102.0, 104.0, 106.0), tolerance=0.03)) == 2


def test_majority_is_more_than_half_of_those_that_report() -> None:
    (row,) = compare(nodes(1.0, 1.0, 2.0, None), [NodeReading("r", "host", None, lambda node: node.clock_offset_s)])
    assert row.majority is not None
    assert (row.majority.text, row.unseen) == ("1.0", ("n3",))
    (row,) = compare(nodes(1.0, 1.0, 2.0, 2.0), [NodeReading("r", "host", None, lambda node: node.clock_offset_s)])
    assert row.majority is None


def test_a_reading_of_one_node_is_no_comparison() -> None:
    assert compare(nodes(1.0, None), [NodeReading("r", "host", None, lambda node: node.clock_offset_s)]) == ()


def gpu_node(name: str, driver: str) -> ClusterNode:
    return ClusterNode(name, facts={"gpus": Observed.seen(Gpus(driver, gpus=(Gpu(0),)))})


def test_nodes_without_gpus_are_compared_among_all_only_where_none_has_any() -> None:
    head = ClusterNode("head", facts={"nvidia": Observed.seen(Nvidia(pci_devices=0))})
    (row, *_) = compare(Cluster("ray", (head, gpu_node("a", "1"), gpu_node("b", "1"))), named("driver"))
    assert (row.seen, row.unseen) == (2, ())
    blind = ClusterNode("blind", facts={"nvidia": Observed.seen(Nvidia(pci_devices=8))})
    (row, *_) = compare(Cluster("ray", (blind, gpu_node("a", "1"), gpu_node("b", "1"))), named("driver"))
    assert row.unseen == ("blind",)


def test_nodes_that_depart_alike_are_told_together() -> None:
    rows = compare(
        Cluster("f", tuple(_with(i, {"OMP_NUM_THREADS": "1", "VLLM_USE_V1": "0"} if i > 4 else {}) for i in range(7))),
        named("{}"),
    )
    (departure,) = departures(rows)
    assert departure.hosts == ("n5", "n6")
    assert [item.compared.name for item in departure.items] == ["OMP_NUM_THREADS", "VLLM_USE_V1"]
    assert departure.others == 5


def _with(number: int, variables: dict[str, str]) -> ClusterNode:
    return ClusterNode(f"n{number}", facts={"environment": Observed.seen(Environment(variables))})


def test_a_variable_that_names_its_node_is_not_compared() -> None:
    cluster = Cluster("f", tuple(_with(i, {"VLLM_OWN_NAME": f"n{i}", "VLLM_X": "1"}) for i in range(9)))
    assert [row.name for row in compare(cluster, named("{}"))] == ["VLLM_X"]


def test_names_of_readings_are_unique_in_their_area() -> None:
    keys = [(each.name, each.area) for each in READINGS]
    assert len(keys) == len(set(keys))

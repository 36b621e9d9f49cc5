"""Many nodes judged together: what is planted is named, nothing else is, and what is unknown is never equal."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from doctor.base.evidence import Observed
from doctor.base.fact import Context
from doctor.catalogue.finding import Finding, Message, Where, Words, found
from doctor.catalogue.problem import ERROR, Problem
from doctor.cluster.alike import Alike
from doctor.diagnosis.diagnose import Patient, _cluster, diagnose
from doctor.diagnosis.nodes.joined import joined_findings
from doctor.diagnosis.report import as_dict
from doctor.diagnosis.schema import REPORT
from doctor.facts.cluster import Cluster, ClusterNode
from doctor.facts.environment import Environment
from doctor.facts.host import Host
from doctor.facts.packages import Distribution, Packages

ROOT = Path(__file__).parent.parent.parent
COUNT = 130


@pytest.fixture(scope="module")
def simulated() -> Any:
    """The benchmark's own nodes, so that what is timed is what is tested."""
    spec = importlib.util.spec_from_file_location("cluster_benchmark", ROOT / "benchmarks" / "cluster.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def record(simulated: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return simulated.recorded(tmp_path_factory.mktemp("run"))


def gathered(files: list[dict[str, Any]], **more: Any) -> Cluster:
    alike = Alike()
    nodes = [ClusterNode(each["host"], facts=alike.states(json.dumps(each, indent=1), Path("x"))) for each in files]
    return Cluster("folder", tuple(nodes), **more)


def test_files_of_one_host_name_are_nodes_of_their_own() -> None:
    patients = [
        Patient({}, "a.json", "gpu"),
        Patient({}, "b.json", "gpu"),
        Patient({}, "c.json"),
        Patient({}, host="gpu"),
    ]
    assert [each.name for each in _cluster(patients).nodes] == ["gpu", "gpu-2", "c.json", "gpu-3"]


def judged(cluster: Cluster, *argv: str) -> dict[str, Any]:
    diagnosis, _ = diagnose(Context(argv, Path.cwd(), {}), cluster=cluster)
    report = as_dict(diagnosis)
    jsonschema.validate(report, REPORT)
    assert not report["crashed"], report["crashed"]
    return report


@pytest.mark.process
def test_all_planted_deviations_are_named_and_no_others(simulated: Any, record: Any) -> None:
    report = judged(gathered(simulated.nodes(COUNT, record)))
    names = {each["id"]: each["nodes"]["names"] for each in report["findings"] if each["nodes"]["count"] < COUNT}
    planted = {problem: nodes for problem, _, nodes, _ in simulated.DEVIATIONS}
    assert names.keys() == planted.keys()
    for problem, nodes in planted.items():
        found = next(each for each in report["findings"] if each["id"] == problem)
        assert found["nodes"]["count"] == len(nodes)
        assert found["where"]["host"] == f"node{nodes[0]:04d}"
    rows = {each["name"] for each in report["nodes"]["rows"]}
    assert rows == {
        reading if problem != "LCH0780/packages" else f"package {reading}"
        for problem, reading, _, _ in simulated.DEVIATIONS
    }
    assert len(report["nodes"]["groups"]) == 1 + len(planted)


@pytest.mark.process
def test_healthy_nodes_of_real_facts_are_silent(simulated: Any, record: Any) -> None:
    files = [simulated.healthy(record, node) for node in range(40)]
    report = judged(gathered(files))
    assert [each["id"] for each in report["findings"] if each["id"] in _OF_CLUSTERS] == []
    assert report["nodes"]["rows"] == []
    assert len(report["nodes"]["alike"]) > 60
    one, _ = diagnose(Context((), Path.cwd(), {}), [Patient(gathered(files[:1]).nodes[0].facts, "a file")])
    alone = [each.problem.id for each in one.outcome.findings]  # several of one kind are one finding of a cluster
    assert list(dict.fromkeys(each["id"] for each in report["findings"])) == list(dict.fromkeys(alone))


_OF_CLUSTERS = {
    "LCH026", "LCH029", "NCC001", "NCC003", "NCC016", "RAY003", "RAY012",
    "LCH0780/packages", "LCH0780/files", "LCH0780/master", "LCH0780/environment", "LCH0780/nccl_variables",
    "LCH0780/rdma_devices", "LCH0780/mtu", "LCH0780/gpus", "LCH0780/gpu_settings", "LCH0780/driver",
    "LCH0780/host_settings", "LCH0780/clocks",
}  # fmt: skip


def test_what_is_judged_once_for_all_is_what_each_alone_is_told(simulated: Any, record: Any) -> None:
    files = simulated.nodes(60, record)
    cluster = gathered(files)
    argv = ["torchrun", "--nnodes", "60", "--nproc_per_node", "8", "--rdzv_endpoint", "node0000:29500", "train.py"]
    together = judged(cluster, *argv)
    for node in (cluster.nodes[3], cluster.nodes[42], cluster.nodes[59]):
        alone, _ = diagnose(Context(tuple(argv), Path.cwd(), {}), [Patient(node.facts, "a file")])
        own = {each.problem.id for each in alone.outcome.findings}
        told = {
            each["id"] for each in together["findings"]
            if each["id"] not in _OF_CLUSTERS and node.name in _expanded(each["nodes"]["names"])
        }  # fmt: skip
        assert own == told


def _expanded(names: str) -> set[str]:
    from doctor.cluster.hostlist import expanded

    return set(expanded(names))


def small(name: str, **versions: str) -> ClusterNode:
    packages = Packages({key: Distribution(key, value) for key, value in versions.items()})
    facts = {"packages": Observed.seen(packages), "host": Observed.seen(Host(name))}
    return ClusterNode(name, facts=facts)


def test_half_against_half_blames_nobody() -> None:
    report = judged(
        Cluster(
            "folder", (*(small(f"a{i}", trl="1.0") for i in range(2)), *(small(f"b{i}", trl="2.0") for i in range(2)))
        )
    )
    (found,) = [each for each in report["findings"] if each["id"] == "LCH0780/packages"]
    assert "no value has a majority: 1.0 (2), 2.0 (2)" in found["headline"]
    assert "host" not in found["where"]
    (row,) = report["nodes"]["rows"]
    assert row["majority"] is None


def test_a_node_that_did_not_see_it_is_neither_equal_nor_different() -> None:
    blind = ClusterNode(
        "c", facts={"packages": Observed.unseen("did not answer", late=True), "host": Observed.seen(Host("c"))}
    )
    report = judged(Cluster("folder", (small("a", trl="1.0"), small("b", trl="1.0"), blind)))
    assert not [each for each in report["findings"] if each["id"] == "LCH0780/packages"]
    (row,) = report["nodes"]["rows"]
    assert (row["name"], [each["text"] for each in row["values"]]) == ("could not see", ["-", "packages"])
    assert any(each["reason"] == "on 1 of 3 nodes: did not answer" for each in report["skipped"])


def test_partial_results_are_judged_and_silent_nodes_told() -> None:
    dead = ClusterNode("c", "died", "its raylet went away")
    report = judged(Cluster("ray", (small("a", trl="1.0"), small("b", trl="2.0"), dead), expected=3))
    assert {"LCH026", "LCH0780/packages"} <= {each["id"] for each in report["findings"]}
    assert (report["nodes"]["asked"], report["nodes"]["heard"], report["nodes"]["expected"]) == (3, 2, 3)
    assert report["nodes"]["states"] == [{"state": "died", "reason": "its raylet went away", "count": 1, "names": "c"}]


def test_no_node_answers() -> None:
    report = judged(Cluster("ray", (ClusterNode("a", "silent", "no answer"), ClusterNode("b", "silent", "no answer"))))
    assert [each["id"] for each in report["findings"]] == ["LCH026"]
    assert report["nodes"]["groups"] == []


def test_one_problem_with_other_numbers_on_each_node_is_one_finding() -> None:
    problem = Problem("HST001", "x", ERROR, "0.1")
    message = Message(Words("{free} MiB are free", "It fails.", "Free some."))

    def own(free: int, gpu: int | None = None) -> Finding:
        return found(problem, message, where=Where(gpu=gpu), free=free)

    parts = [([own(64)], ["n1", "n2"]), ([own(32, 3)], ["n3"]), ([own(64)], ["n4"])]
    (one,) = joined_findings(parts)
    assert (one.words().headline, one.nodes, one.where) == (
        "64 MiB are free",
        ("n1", "n2", "n4", "n3"),
        Where(host="n1"),
    )
    assert [(each.source, each.text) for each in one.evidence] == [("n3", "32 MiB are free"), ("nodes", "n[1-4]")]
    many = [([own(free)], [f"n{free}"]) for free in range(20)]
    (one,) = joined_findings(many)
    assert one.evidence[-2].text == "+13"


def test_places_in_files_are_not_joined() -> None:
    problem = Problem("HST001", "x", ERROR, "0.1")
    message = Message(Words("Wrong", "It fails.", "Mend it."))
    parts = [([found(problem, message, where=Where(file="a", line=line))], ["n1"]) for line in (1, 2)]
    assert len(list(joined_findings(parts))) == 2


def test_the_commands_variables_are_laid_over_each_nodes() -> None:
    nodes = [
        ClusterNode(
            name,
            facts={
                "environment": Observed.seen(Environment({"HOSTNAME": name})),
                "host": Observed.seen(Host(name)),
            },
        )
        for name in ("a", "b")
    ]
    from doctor.diagnosis.nodes.judge import _Commands

    commands = _Commands(Context(("NCCL_DEBUG=INFO", "torchrun", "train.py"), Path.cwd(), {}), {"launch"})
    found = [commands.of(node)["environment"].value for node in nodes]
    assert [each.variables for each in found] == [
        {"HOSTNAME": "a", "NCCL_DEBUG": "INFO"},
        {"HOSTNAME": "b", "NCCL_DEBUG": "INFO"},
    ]


def test_two_hosts_of_one_name_stay_two() -> None:
    facts = small("same", trl="1.0").facts
    report = as_dict(
        diagnose(Context((), Path.cwd(), {}), [Patient(facts, "a", "same"), Patient(facts, "b", "same")])[0]
    )
    assert report["nodes"]["asked"] == 2


def test_order_of_nodes_does_not_matter() -> None:
    nodes = (small("a", trl="1.0"), small("b", trl="1.0"), small("c", trl="2.0"))
    one, two = judged(Cluster("folder", nodes)), judged(Cluster("folder", tuple(reversed(nodes))))
    assert [each["headline"] for each in one["findings"]] == [each["headline"] for each in two["findings"]]
    assert replace(nodes[0]).name == "a"

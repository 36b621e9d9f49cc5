"""Measurements between nodes: who meets whom, and real ones over gloo between processes of this machine."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.base.evidence import Observations, Observed
from doctor.base.fact import Meeting
from doctor.catalogue.finding import Finding
from doctor.catalogue.index import load as catalogue
from doctor.cluster.deep import NoMeeting, announcement, load, meeting
from doctor.diagnosis.runner import run_checks
from doctor.facts.cluster import Cluster, ClusterNode
from doctor.facts.collectives import Collectives
from doctor.facts.gpus import Gpu, GpuProcess, Gpus
from doctor.readers.homes import PACKAGES
from doctor.readers.machine import measuring
from doctor.readers.patient import exchanges
from doctor.readers.patient.carry import carry
from doctor.readers.patient.meeting import decide
from tests.facts.environments import interpreter
from tests.ports import free_port

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason=f"torch is not installed in {sys.prefix}"
)
OURS = {"NCC022", "NCC023", "NCC024", "NCC025", "NCC030", "PRF016"}
SHARED = Path("/shared")

# -- who meets whom --


@given(st.integers(1, 40))
def test_in_a_tournament_each_meets_each_other_once_and_never_two_at_a_time(players: int) -> None:
    rounds = exchanges.tournament(list(range(players)))
    met = Counter(frozenset(pair) for each in rounds for pair in each)
    assert len(met) == players * (players - 1) // 2
    assert set(met.values()) <= {1}
    for each in rounds:
        busy = [player for pair in each for player in pair]
        assert len(busy) == len(set(busy))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=80))
def test_rounds_of_nodes_with_any_number_of_gpus(gpus: list[int]) -> None:
    members = [(node, local) for node, count in enumerate(gpus) for local in range(count)]
    rounds = exchanges.all_rounds(members) if members else []
    for each in rounds:
        ends = [end for pair in each for end in pair]
        assert len(ends) == len(set(ends))
        assert set(ends) <= set(members)
    met = {frozenset(pair) for each in rounds for pair in each}
    nodes = [node for node, count in enumerate(gpus) if count]
    inside = {frozenset((a, b)) for a in members for b in members if a[0] == b[0] and a != b}
    assert inside <= met
    if len(nodes) <= exchanges.ALL_PAIRS_NODES:
        assert {frozenset(((a, 0), (b, 0))) for a in nodes for b in nodes if a != b} <= met
    else:
        partners = Counter(end[0] for pair in met for end in pair if end[1] == 0 and len({e[0] for e in pair}) == 2)
        assert min(partners[node] for node in nodes) >= exchanges.rounds_of_nodes(len(nodes)) - 1


def test_suspicious_pairs_are_measured_again_one_at_a_time() -> None:
    def line(a: int, b: int) -> dict[str, Any]:
        return {"a": [a, 0], "b": [b, 0], "byte_s": 9e-9 if 3 in (a, b) else 1e-9, "latency_us": 20.0}

    rounds = exchanges.repeat_rounds(line(a, b) for b in range(10) for a in range(b))
    assert {end[0] for each in rounds for pair in each for end in pair if (3, 0) in pair} == set(range(10))
    assert len(rounds) == 9
    assert all((3, 0) in pair for each in rounds for pair in each)


def test_gpus_measure_where_there_are_any_and_absent_nodes_are_known() -> None:
    notes = [{"node": 2, "local": 0, "ranks": 1, "device": "cpu"}] + [
        {"node": node, "local": local, "ranks": 2, "device": "cuda"} for node in (1, 0) for local in (1, 0)
    ]
    assert decide(notes, 5) == ([(0, 0), (0, 1), (1, 0), (1, 1)], "nccl", [3, 4])
    assert decide(notes[:1], 3) == ([(2, 0)], "gloo", [0, 1])
    busy = [{"node": 0, "local": 0, "ranks": 1, "device": "busy"}]
    assert decide(busy, 1).members == []


# -- how a node knows the others --

TORCHRUN = {
    "GROUP_RANK": "1", "GROUP_WORLD_SIZE": "4", "RANK": "8", "WORLD_SIZE": "32", "MASTER_ADDR": "n0",
    "MASTER_PORT": "29500", "TORCHELASTIC_RUN_ID": "r", "TORCHELASTIC_USE_AGENT_STORE": "True", "SLURM_NODEID": "9",
}  # fmt: skip
SLURM = {"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "2", "SLURM_NODEID": "3", "SLURM_STEP_NUM_NODES": "4"}
BY_AGENT = Meeting(1, 4, "r.0", address="n0", port=29500)
BY_ADDRESS = Meeting(1, 2, "launch.0", address="pod-0", port=23456, hosted=True)
PODS = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "pod-0", "MASTER_PORT": "23456"}


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        (TORCHRUN, BY_AGENT),
        ({**TORCHRUN, "TORCHELASTIC_USE_AGENT_STORE": "False"}, replace(BY_AGENT, hosted=True)),
        ({**SLURM, "SLURM_NNODES": "8"}, Meeting(3, 4, "slurm-77.2.0", folder="/shared")),
        (PODS, BY_ADDRESS),
        ({"NODE_RANK": "0", "NNODES": "2", **PODS}, replace(BY_ADDRESS, node=0)),
    ],
)  # fmt: skip
def test_the_launcher_tells_how_nodes_meet(environ: Mapping[str, str], expected: Meeting) -> None:
    assert meeting(environ, SHARED, seconds=60.0, forced=False) == expected


@pytest.mark.parametrize(
    "environ", [{}, {"NODE_RANK": "0", "NNODES": "2"}, {**PODS, "MASTER_PORT": "?"}, {"RANK": "0"}]
)
def test_without_a_launcher_nodes_cannot_meet(environ: Mapping[str, str]) -> None:
    with pytest.raises(NoMeeting, match="MASTER_ADDR"):
        meeting(environ, SHARED, seconds=60.0, forced=False)


def test_the_load_is_told_before() -> None:
    text = announcement(4, 30.0, forced=False)
    assert "4 nodes for up to 30 s" in text
    assert "left alone" in text
    assert "also those that others use" in announcement(4, 30.0, forced=True)
    gpu = load(4, "cuda")
    assert gpu.rounds == 7 + 3 + 36
    assert gpu.round_bytes == 6 * (64 << 20) + (256 << 10)
    assert load(1000, "cuda").rounds == 7 + 20 + 36


# -- which devices --

FREE = {"memory_total_bytes": 80 << 30, "memory_used_bytes": 1 << 30, "processes": ()}


@pytest.mark.parametrize(
    ("gpu", "reason"),
    [
        (Gpu(0, **FREE), None),  # type: ignore[arg-type]
        (Gpu(0, **{**FREE, "processes": (GpuProcess(7),)}), "1 processes use it"),  # type: ignore[arg-type]
        (Gpu(0, **{**FREE, "memory_used_bytes": 40 << 30}), "40.0 GiB of its memory are in use"),  # type: ignore[arg-type]
        (Gpu(0), "it does not tell whether it is in use"),
        (Gpu(0, error="lost"), "it cannot be read"),
        (Gpu(0, mig_enabled=True, **FREE), "it is split into MIG instances"),  # type: ignore[arg-type]
    ],
)
def test_a_gpu_in_use_is_left_alone(gpu: Gpu, reason: str | None) -> None:
    assert measuring.in_use(gpu) == reason


def test_devices_follow_what_is_visible_and_free() -> None:
    used = {**FREE, "processes": (GpuProcess(7),)}
    gpus = Gpus(gpus=tuple(Gpu(index, uuid=f"GPU-{index}", **(used if index == 2 else FREE)) for index in range(4)))  # type: ignore[arg-type]
    chosen, busy = measuring.devices(gpus, "3,2,1", forced=False)
    assert [(each.index, each.gpu.index) for each in chosen if each.gpu] == [(0, 3), (2, 1)]
    assert busy == ((2, "1 processes use it"),)
    assert len(measuring.devices(gpus, None, forced=True)[0]) == 4
    assert [each.kind for each in measuring.devices(gpus, "2", forced=False)[0]] == ["busy"]
    assert [each.kind for each in measuring.devices(None, None, forced=False)[0]] == ["cpu"]


# -- real measurements --


def measured(*meetings: Meeting) -> tuple[Cluster, dict[int, Collectives]]:
    """Run the nodes of a meeting side by side."""
    with ThreadPoolExecutor(len(meetings)) as threads:
        parts = threads.map(lambda each: measuring.measure(each, sys.executable, dict(os.environ), None), meetings)
        told = {each.node: each for each in parts}
    nodes = [
        ClusterNode(f"n{node}", rank=node, facts={"collectives": Observed.seen(each)}) for node, each in told.items()
    ]
    return Cluster("folder", tuple(sorted(nodes, key=lambda node: node.name))), told


def findings(cluster: Cluster) -> list[Finding]:
    entries = [entry for entry in catalogue() if entry.id in OURS]
    outcome = run_checks(entries, Observations([Observed("cluster", cluster)]))
    assert not outcome.crashed, outcome.crashed
    return list(outcome.findings)


def folder_meetings(folder: Path, nodes: int, seconds: float) -> list[Meeting]:
    return [Meeting(node, nodes, "t", seconds, folder=str(folder)) for node in range(nodes)]


@pytest.mark.process
@needs_torch
def test_four_nodes_measure_all_pairs_and_rings_and_nobody_is_blamed(tmp_path: Path) -> None:
    cluster, told = measured(*folder_meetings(tmp_path, 4, 60.0))
    assert {(each.outcome, each.members) for part in told.values() for each in part.processes} == {("ok", 4)}
    pairs = {(each.node_a, each.node_b) for part in told.values() for each in part.exchanges}
    assert pairs == {(a, b) for b in range(4) for a in range(b)}
    assert {each.repeat for part in told.values() for each in part.exchanges} == {0, 1, 2, 3}
    rings = [each for part in told.values() for each in part.rings]
    assert {each.group for each in rings} == {
        "all", "digit 0 is 0", "digit 0 is 1", "digit 1 is 0", "digit 1 is 1"
    }  # fmt: skip
    assert all(each.sum_right and each.bus_gb_s > 0 for each in rings)
    assert not findings(cluster)


@pytest.mark.process
@needs_torch
def test_a_node_that_never_comes_is_missed_and_the_others_measure(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(measuring, "LEAST_JOIN_S", 8.0)
    started = time.monotonic()
    cluster, told = measured(*folder_meetings(tmp_path, 3, 6.0)[:2])
    assert time.monotonic() - started < 90
    assert [each.missing for part in told.values() for each in part.processes] == [(2,), (2,)]
    assert any(part.exchanges for part in told.values())
    (found,) = findings(cluster)
    assert found.words().headline == "`node number 2` did not join the measurement; 2 of 3 nodes did"


@pytest.mark.process
@needs_torch
def test_a_folder_that_is_not_shared_is_told_as_such(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(measuring, "LEAST_JOIN_S", 3.0)
    meetings = folder_meetings(tmp_path, 2, 3.0)
    (tmp_path / "other").mkdir()
    apart = Meeting(1, 2, "t", 3.0, folder=str(tmp_path / "other"))
    cluster, told = measured(meetings[0], apart)
    assert {each.outcome for part in told.values() for each in part.processes} == {"ok"}
    (found,) = findings(cluster)
    assert found.words().headline.startswith("None of the 2 nodes found another node in the folder")


#: runs before the program of a measuring process: the first node's is killed as soon as it has told its first pair
_KILLED = """
import json, os, signal, sys
sys.path.insert(0, sys.argv[3])
from doctor.readers.patient.said import Said
told = Said.say
def say(self, **facts):
    told(self, **facts)
    if "pair" in facts and json.loads(sys.argv[4])["node"] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
Said.say = say
"""


@pytest.mark.process
@needs_torch
def test_a_process_that_is_killed_is_named_and_what_was_measured_is_kept(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(measuring, "_BOOT", _KILLED + measuring._BOOT)
    cluster, told = measured(*folder_meetings(tmp_path, 3, 20.0))
    assert (told[0].processes[0].outcome, told[0].processes[0].signal) == ("died", "SIGKILL")
    assert told[0].exchanges
    assert {told[node].processes[0].outcome for node in (1, 2)} <= {"error", "died"}
    (found,) = findings(cluster)
    assert found.words().headline.startswith("The measuring process of `n0` ended with SIGKILL")
    assert found.where.host == "n0"


@pytest.mark.process
@needs_torch
def test_a_child_ends_with_the_thread_that_waits_for_it(tmp_path: Path) -> None:
    """The doctor killed with -9 leaves no measurement behind."""
    program = (
        "import os, sys\nfrom doctor.readers.machine.measuring import measure\nfrom doctor.base.fact import Meeting\n"
        f"measure(Meeting(0, 2, 't', 60.0, folder={str(tmp_path)!r}), sys.executable, dict(os.environ), None)\n"
    )
    doctor = subprocess.Popen([sys.executable, "-c", program])
    try:
        children: list[psutil.Process] = []
        until = time.monotonic() + 60
        while not (tmp_path / ".meeting-t").exists() and time.monotonic() < until:
            time.sleep(0.05)
        children = psutil.Process(doctor.pid).children()
    finally:
        doctor.kill()
        doctor.wait()
    assert children
    assert not psutil.wait_procs(children, timeout=10)[1]


@pytest.mark.process
@needs_torch
def test_torchrun_starts_it_on_every_node_and_the_folder_is_judged(tmp_path: Path) -> None:
    facts = tmp_path / "facts"
    launch = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1",
              "--master-addr", "127.0.0.1", "--master-port", str(free_port())]  # fmt: skip
    check = ["-m", "doctor", "check", "--collect", str(facts), "--deep", "--deep-seconds", "20"]
    nodes = [
        subprocess.Popen([*launch, "--node-rank", str(rank), *check], stderr=subprocess.PIPE, text=True, cwd=tmp_path)
        for rank in range(2)
    ]
    said = [node.communicate(timeout=240)[1] for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], said
    assert "--deep measures 2 nodes for up to 20 s" in said[0]
    assert "--deep measures" not in said[1]
    states = [json.loads(path.read_text())["facts"]["collectives"] for path in sorted(facts.glob("*.json"))]
    assert {(each["value"]["node"], each["value"].get("nodes")) for each in states} == {(0, 2), (1, 2)}
    assert {each["value"]["shared_by"] for each in states} == {"launcher"}
    assert {each["value"]["processes"][0]["outcome"] for each in states} <= {"ok", "cut"}
    judged = subprocess.run(
        [sys.executable, "-m", "doctor", "check", "--from", str(facts), "--format", "json"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    report = json.loads(judged.stdout)
    assert not [each for each in report["findings"] if each["id"] in OURS]
    assert [each["reason"] for each in report["skipped"] if each["id"] == "NCC022"] == [
        "fewer than three nodes exchanged messages, so there is nothing to compare a link with"
    ]


@pytest.mark.process
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--deep-seconds", "9"), "--deep-seconds is for measurements between nodes"),
        (("--deep", "--deep-busy"), "--deep-busy is for measurements between nodes"),
        (("--deep", "--collect", "x", "--deep-seconds", "2"), "not in the range"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: tuple[str, ...], words: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "doctor", "check", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr


@pytest.mark.process
def test_a_node_of_ray_with_python_39_measures_and_tells_what_it_lacks(tmp_path: Path) -> None:
    modules = ("doctor.cluster.deep_node", *PACKAGES)
    carry((*modules, "doctor.base.redact"), tmp_path)
    program = (
        "import json, sys\nsys.path.insert(0, sys.argv[1])\nfrom doctor.cluster import deep_node\n"
        "here = {'node': {'id': 'a', 'address': '127.0.0.1'}}\n"
        "plan = {'order': ['a'], 'token': 't', 'seconds': 5.0, 'forced': False}\n"
        "print(json.dumps(deep_node.measure({**here, **plan, **deep_node.offer(here)})))"
    )
    command = [interpreter("3.9"), "-I", "-S", "-B", "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    (process,) = json.loads(done.stdout)["value"]["processes"]
    assert (process["outcome"], process["phase"]) == ("error", "import")
    assert "torch" in process["error"]

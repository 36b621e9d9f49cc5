"""Facts from the nodes of a real Ray cluster, and what becomes of nodes that die or freeze under the question."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from doctor.cluster import gathered
from doctor.cluster.ray_child import RayChild, RayRefused, Request, answers
from doctor.cluster.ray_main import nodes_of
from doctor.facts.cluster import Cluster, ClusterNode
from tests.cluster.rays import Rays, ray_cluster

pytestmark = pytest.mark.process

_PLANTED = {"NCCL_SOCKET_IFNAME": "eth7", "HF_TOKEN": "hf_abcdefghijklmnop"}
_ASKED = b"asking 3 nodes"


@pytest.fixture(scope="module")
def rays() -> Iterator[Rays]:
    """Three nodes; the second has another environment."""
    with ray_cluster([{"cpus": 1}, {"cpus": 1, "env": _PLANTED}, {"cpus": 1}]) as cluster:
        yield cluster


def _ask(rays: Rays, task: str, **more: Any) -> list[dict[str, Any]]:
    request = Request(rays.address, task, more.pop("arguments", {}), **more)
    return list(answers(request, sys.executable, rays.environ))


def _check(rays: Rays, *options: str, cwd: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "doctor", "check", "--python", sys.executable, *options]
    return subprocess.Popen(command, cwd=cwd, env=rays.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def _by_id(cluster: Cluster) -> dict[str, ClusterNode]:
    return {str(node.engine_id): node for node in cluster.nodes}


def test_items_are_shared_among_the_nodes_and_errors_have_their_reason(rays: Rays) -> None:
    first, *others = _ask(rays, "doctor.base.redact:inert", over="items", items=("a\x1b[0m", *range(5)))
    assert {each["id"] for each in first["nodes"]} == set(rays.ids)
    assert all(each["alive"] and each["resources"]["CPU"] == 1 for each in first["nodes"])
    assert {line["item"]: line["value"]["item"] for line in others} == {0: "a[0m", **{n: n - 1 for n in range(1, 6)}}
    failed = _ask(rays, "doctor.base.redact:is_secret_name")[1:]
    assert [line["state"] for line in failed] == ["failed"] * 3
    assert {line["node"] for line in failed} == set(rays.ids)
    assert all("TypeError" in line["reason"] for line in failed)


def test_every_node_is_judged_and_its_facts_are_kept(rays: Rays, tmp_path: Path) -> None:
    folder = tmp_path / "facts"
    with _check(rays, "--ray", "auto", "--collect", str(folder), "--format", "json", cwd=tmp_path) as process:
        out, err = process.communicate(timeout=100)
    assert process.returncode in {0, 1}, err.decode()
    report = json.loads(out)
    assert len(report["nodes"]["groups"]) >= 1
    assert not report["crashed"]
    cluster = gathered.read([folder]).cluster
    nodes = _by_id(cluster)
    assert (cluster.engine, cluster.expected, set(nodes)) == ("ray", 3, set(rays.ids))
    assert {node.state for node in cluster.nodes} == {"ok"}
    seen = [nodes[name].value("environment").variables.get("NCCL_SOCKET_IFNAME") for name in rays.ids]
    assert seen == [None, "eth7", None]
    for node in cluster.nodes:
        assert node.clock_offset_s is not None
        assert node.clock_error_s is not None
        assert abs(node.clock_offset_s) <= node.clock_error_s + 0.05  # it is one machine
        assert node.resources["object_store_memory"] > 0
        assert node.value("interpreter").executable == sys.executable
        assert not any("py_modules" in folder for folder in node.value("interpreter").pythonpath)
        assert "CUDA_VISIBLE_DEVICES" not in node.value("environment").variables  # Ray's workers have it empty
    assert "hf_abcdefghijklmnop" not in "".join(each.read_text() for each in folder.glob("*.json"))
    _agrees_with_collect(rays, nodes[rays.ids[0]], tmp_path)


def _agrees_with_collect(rays: Rays, node: ClusterNode, tmp_path: Path) -> None:
    """The same machine, asked by `--collect` in a shell, tells the same."""
    with _check(rays, "--collect", str(tmp_path / "own"), cwd=tmp_path) as process:
        assert process.wait(60) == 0
    (own,) = gathered.read([tmp_path / "own"]).cluster.nodes
    for fact in ("packages", "gpus", "nvidia", "cuda"):
        assert node.facts[fact] == own.facts[fact] or node.value(fact) == own.value(fact), fact
    for fact, fields in {
        "host": ("hostname", "kernel", "cpus", "memory_total_bytes", "shm_total_bytes", "memlock_soft_bytes"),
        "interpreter": ("executable", "version", "prefix"),
        "node": ("boot_id", "machine_id", "cpu_model", "mounts", "kernel_modules", "ports"),
        "network": ("hostname", "hostname_addresses", "infiniband"),
    }.items():
        for name in fields:
            assert name in vars(own.value(fact))
            assert getattr(node.value(fact), name) == getattr(own.value(fact), name), (fact, name)


def test_nodes_that_went_on_purpose_or_came_back_are_not_counted_as_lost() -> None:
    def entry(name: str, address: str, *, alive: bool = False, reason: int | None = 2) -> dict[str, Any]:
        told = {} if reason is None else {"DeathReason": reason, "DeathReasonMessage": "missing too many heartbeats"}
        places = {"NodeManagerAddress": address, "NodeManagerHostname": f"host-{address}"}
        return {"NodeID": name, "Alive": alive, **places, "Resources": {"CPU": 8.0, f"node:{address}": 1.0}, **told}

    class Listed:
        @staticmethod
        def nodes() -> list[dict[str, Any]]:
            return [
                entry("head", "10.0.0.1", alive=True, reason=0),
                entry("before", "10.0.0.1"),
                entry("lost", "10.0.0.2"),
                entry("stopped", "10.0.0.3", reason=1),
                entry("idle", "10.0.0.4", reason=4),
                entry("of an old Ray", "10.0.0.5", reason=None),
            ]

    found = nodes_of(Listed())
    assert [(node["id"], node["alive"], node["reason"]) for node in found] == [
        ("head", True, "missing too many heartbeats"),
        ("lost", False, "missing too many heartbeats"),
        ("of an old Ray", False, ""),
    ]
    assert found[0]["resources"] == {"CPU": 8.0}


def test_a_wrong_address_is_refused_at_once(rays: Rays) -> None:
    for address, word in (("127.0.0.1:1", "nothing accepts"), ("local", "local"), ("here", "not an address")):
        began = time.monotonic()
        with pytest.raises(RayRefused, match=word):
            list(answers(Request(address, "doctor.base.redact:inert", {}), sys.executable, rays.environ))
        assert time.monotonic() - began < 30


def test_without_a_cluster_nothing_is_started(rays: Rays, tmp_path: Path) -> None:
    environ = {**rays.environ, "RAY_TMPDIR": str(tmp_path), "RAY_ADDRESS": "local"}
    with pytest.raises(RayRefused, match="instead of finding one"):
        list(answers(Request("auto", "doctor.base.redact:inert", {}), sys.executable, environ))
    with _check(rays, "--ray", "127.0.0.1:1", cwd=tmp_path) as process:
        _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert b"nothing accepts a connection at 127.0.0.1:1" in err


def test_closing_ends_the_driver(rays: Rays) -> None:
    request = Request(rays.address, "doctor.base.redact:inert", {})
    with RayChild(request, sys.executable, rays.environ) as child:
        pid = child.pid
        assert next(child.lines())["kind"] == "nodes"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_nothing_is_left_when_the_doctor_is_interrupted_or_killed(
    rays: Rays, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    with _check(rays, "--ray", rays.address, cwd=tmp_path) as process:
        assert process.stderr is not None
        assert any(_ASKED in line for line in process.stderr)
        drivers = psutil.Process(process.pid).children()
        assert len(drivers) == 1
        process.send_signal(number)
        assert process.wait(30) == code
    _, left = psutil.wait_procs(drivers, timeout=20)
    assert not left


def test_nodes_that_freeze_or_are_killed_during_the_check_are_told(rays: Rays, tmp_path: Path) -> None:
    """Last, for it leaves one node."""
    patience = f"{max(45, 2 * rays.started_s):.0f}"  # a healthy node must answer in it, however busy this machine is
    options = ("--ray", rays.address, "--collect", str(tmp_path / "facts"), "--node-timeout", patience)
    with _check(rays, *options, "--format", "json", cwd=tmp_path) as process:
        assert process.stderr is not None
        assert any(_ASKED in line for line in process.stderr)
        rays.stop(1)
        rays.kill(2)
        out, err = process.communicate(timeout=240)
    assert process.returncode in {0, 1}, err.decode()
    nodes = _by_id(gathered.read([tmp_path / "facts"]).cluster)
    states = [nodes[name].state for name in rays.ids]
    assert states[0] == "ok"
    assert states[1] == "silent"
    assert states[2] in {"died", "silent"}  # as soon as Ray has noticed, within its own time-out
    assert all(nodes[name].reason for name in rays.ids[1:])
    found = {finding["name"] for finding in json.loads(out)["findings"]}
    assert any("nodes" in name for name in found), found

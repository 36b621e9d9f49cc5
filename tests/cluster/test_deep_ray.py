"""Measurements between the nodes of a real Ray cluster: the first opens torch's store, the others hear of it by Ray."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.rays import ray_cluster

pytestmark = pytest.mark.process


@pytest.mark.slow  # starts Ray twice over, and imports torch on each node
@pytest.mark.timeout(600)
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_all_nodes_of_a_ray_cluster_measure_together(tmp_path: Path) -> None:
    folder = tmp_path / "facts"
    options = ["--ray", "auto", "--collect", str(folder), "--node-timeout", "120", "--format", "json",
               "--python", sys.executable, "--deep", "--deep-seconds", "30"]  # fmt: skip
    with ray_cluster([{"cpus": 1}, {"cpus": 1}]) as rays:
        done = subprocess.run(
            [sys.executable, "-m", "doctor", "check", *options],
            cwd=tmp_path, env=rays.environ, capture_output=True, text=True, timeout=500, check=False,
        )  # fmt: skip
    report = json.loads(done.stdout)
    assert not report["crashed"]
    assert "--deep measures 2 nodes for up to 30 s" in done.stderr
    files = [path for path in folder.glob("*.json") if path.name != "nodes.json"]
    states = [json.loads(path.read_text())["facts"]["collectives"] for path in files]
    assert [each["status"] for each in states] == ["ok", "ok"], states
    values = [each["value"] for each in states]
    assert {(each["node"], each["nodes"], each["shared_by"]) for each in values} == {
        (0, 2, "address"),
        (1, 2, "address"),
    }
    assert {each["processes"][0]["outcome"] for each in values} <= {"ok", "cut"}
    assert any(each.get("exchanges") for each in values)

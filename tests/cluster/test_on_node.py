"""What runs on a node without an installed doctor: every fact module under a bare Python 3.9."""

from __future__ import annotations

import base64
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.base.fact import Context
from doctor.cluster.on_node import variables
from doctor.cluster.ray_facts import given_states
from doctor.readers.homes import CARRIED
from doctor.readers.patient.carry import CONTENTS, carry
from doctor.readers.saved import state_from
from tests.facts.environments import interpreter

_COLLECT = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
for name in json.loads(sys.argv[3]):
    importlib.import_module(name)
from doctor.cluster.on_node import collect
print(json.dumps(collect({"cwd": sys.argv[2], "given": sys.argv[4]})))
"""


@pytest.mark.process
def test_every_fact_module_is_imported_and_collects_under_a_bare_python_39(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("from trl import GRPOConfig\nGRPOConfig(output_dir='out')\n")
    command = ("accelerate", "launch", "--main_process_ip", "127.0.0.1", "--num_machines", "2", "train.py")
    states = given_states(Context(command, tmp_path))
    assert states["launch"].status == "ok", states["launch"]
    folder = carry([*CARRIED, "doctor.cluster.on_node"], tmp_path / "carried")
    modules = json.loads((folder / "doctor" / CONTENTS).read_text())["modules"]
    assert len(modules) > 60
    given = base64.b64encode(pickle.dumps(states, protocol=4)).decode()
    run = subprocess.run(
        [interpreter("3.9"), "-I", "-S", "-B", "-c", _COLLECT, str(folder), str(tmp_path), json.dumps(modules), given],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    facts = json.loads(run.stdout)["facts"]
    assert "launch" not in facts  # read where the command is, not on each node
    broken = {name: each["reason"] for name, each in facts.items() if "could not be read" in each["reason"]}
    assert not broken
    assert {name for name, each in facts.items() if each["status"] == "ok"} >= {
        "environment", "host", "hub", "interpreter", "network", "node", "nvidia", "packages", "ray_cluster",
    }  # fmt: skip
    assert (
        facts["commands"]["applies"] is False
    )  # PATH of the place where the command is started counts, not the node's
    assert facts["interpreter"]["value"]["version"].startswith("3.9.")
    network = state_from("network", facts["network"]).value
    assert network.endpoint("master").connection in {"accepted", "refused"}
    host = state_from("host", facts["host"]).value
    assert host.disk("output_dir").path == str(tmp_path / "out")


def test_a_workers_own_variables_are_not_the_nodes(tmp_path: Path) -> None:
    (tmp_path / "41").mkdir()
    (tmp_path / "41" / "environ").write_bytes(
        b"NCCL_DEBUG=INFO\0LD_PRELOAD=/ray/libjemalloc.so\0RAY_LD_PRELOAD_ON_WORKERS=0\0OMP_NUM_THREADS=8\0"
    )
    own = {"RAY_RAYLET_PID": "41", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", "NCCL_DEBUG": "INFO"}
    found = variables(own, tmp_path)
    assert found == {"NCCL_DEBUG": "INFO", "RAY_LD_PRELOAD_ON_WORKERS": "0", "OMP_NUM_THREADS": "8"}
    assert variables({**own, "RAY_RAYLET_PID": "42"}, tmp_path) == {"RAY_RAYLET_PID": "42", "NCCL_DEBUG": "INFO"}


def test_secrets_of_the_command_stay_here_and_paths_go_along() -> None:
    command = ("env", "WANDB_API_KEY=abcdefgh", "python", "/home/ann/train.py", "--token", "hf_abcdefghijklmnop")
    states = given_states(Context(command, Path("/home/ann")))
    sent = pickle.dumps(states)
    assert b"abcdefgh" not in sent
    assert states["launch"].value.script == "/home/ann/train.py"
    assert sys.getsizeof(sent) < 1 << 20

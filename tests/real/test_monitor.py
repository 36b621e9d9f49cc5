"""`doctor monitor --during-run` around GRPO in two processes: figures, ranks, phases and a report of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import doctor
from doctor.run.folder import RunDir, read_rows
from tests.nvml import build_standin, scenario_env
from tests.ports import free_port

from .runs import PROGRAMS, environment, run

pytestmark = pytest.mark.process

ROOT = Path(doctor.__file__).parents[1]
PHASES = {"generation", "reward", "update"}


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["accelerate", "torchrun"])
def test_two_ranks_of_grpo(launcher: str, python: Path, model: Path, tmp_path: Path) -> None:
    library = build_standin(tmp_path)
    standin = scenario_env(library, "h100x8")
    changed = {name: value for name, value in standin.items() if os.environ.get(name) != value}
    env = {**environment(python, tmp_path), **changed, "PYTHONPATH": str(ROOT)}
    options = {
        "accelerate": (
            "launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1", "--mixed_precision", "no",
            "--dynamo_backend", "no", "--main_process_port", str(free_port()),
        ),
        "torchrun": (
            "--nproc-per-node", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{free_port()}",
        ),
    }[launcher]  # fmt: skip
    argv = [sys.executable, "-m", "doctor", "monitor", "--during-run", "--gpus", "0,1", "--"]
    argv += [str(python.parent / launcher), *options, str(PROGRAMS / "phases.py"), str(model)]
    done = run(argv, tmp_path, env, limit_s=240)
    assert done.code == 0, done.log.read_text()
    (path,) = (tmp_path / "doctor-runs").glob("2*")
    folder = RunDir(path)
    assert {row["gpu"] for row in read_rows(folder.gpu()) if row["sm_active_pct"]} == {"0", "1"}
    roles = {(row["role"], row["rank"]) for row in read_rows(folder.processes())}
    assert {("launcher", ""), ("trainer", "0"), ("trainer", "1")} <= roles
    marks = [each for each in folder.read_events() if each["kind"] == "phase"]
    assert {(each["rank"], each["data"]["name"]) for each in marks} == {(r, name) for r in (0, 1) for name in PHASES}
    _reported(path)


def _reported(path: Path) -> None:
    """The report tells the phases by their marks."""
    words = [sys.executable, "-m", "doctor", "report", str(path), "--format", "json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    usage = json.loads(done.stdout)["usage"]
    assert usage["phases_from"] == "marks"
    shares = {each["name"]: each["share"] for each in usage["phases"]}
    assert set(shares) == PHASES
    assert shares["generation"] > shares["reward"]
    rounded = 0.5e-4  # each is told to four decimals
    assert sum(shares.values()) == pytest.approx(1, abs=len(shares) * rounded + 1e-9)

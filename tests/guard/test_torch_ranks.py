"""Two real processes under torch's own DDP and fully_shard: one rank alone sees a NaN, both stop, nobody hangs."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.real.runs import free_port, run

pytest.importorskip("torch")
PROGRAM = Path(__file__).parent / "programs" / "torch_ranks.py"
CASES = ["ddp:never", "ddp:nan@3/1", "scaler:nan@3/1", "scaler:never", "fsdp:never", "fsdp:nan@3/1"]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """What both ranks say of each case."""
    folder = tmp_path_factory.mktemp("ranks")
    argv = [
        sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend", "c10d",
        "--rdzv-endpoint", f"127.0.0.1:{free_port()}", str(PROGRAM), *CASES,
    ]  # fmt: skip
    env = {**os.environ, "HOME": str(folder), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    ran = run(argv, folder, env, limit_s=280)
    outcomes: dict[str, list[dict[str, Any]]] = {}
    for line in ran.text.splitlines():
        if line.startswith('{"case"'):
            outcome = json.loads(line)
            outcomes.setdefault(outcome["case"], []).append(outcome)
    assert ran.code == 0, ran.text[-4000:]
    assert {case: len(each) for case, each in outcomes.items()} == dict.fromkeys(CASES, 2)
    return outcomes


@pytest.mark.parametrize("case", [each for each in CASES if each.endswith("never")])
def test_runs_that_are_well_go_on(told, case):
    for outcome in told[case]:
        assert (outcome["stopped"], outcome["step"], outcome["found"]) == (None, 24, [])


@pytest.mark.parametrize("case", ["ddp:nan@3/1", "scaler:nan@3/1"])
def test_under_ddp_both_ranks_stop_in_the_step_itself(told, case):
    for outcome in told[case]:
        assert outcome["stopped"].startswith("GuardStop"), outcome
        assert (outcome["step"], outcome["saved"], outcome["finite"]) == (3, [3], True)
        assert [each[:2] for each in outcome["found"]] == [["NUM006", 3]]


def test_under_fully_shard_the_step_is_dropped_at_once_and_the_stop_agreed_later(told):
    """Each rank holds a part of the gradients, and drops it by itself; every ten steps they agree."""
    for outcome in told["fsdp:nan@3/1"]:
        assert outcome["stopped"].startswith("GuardStop"), outcome
        assert (outcome["step"], outcome["saved"], outcome["finite"]) == (10, [10], True)
        assert [each[:2] for each in outcome["found"]] == [["NUM006", 3]]

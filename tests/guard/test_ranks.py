"""Two processes over gloo under the guard: one decision on both, and nobody hangs whatever one of them does alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.run.folder import RunDir
from tests.ports import free_port
from tests.real.runs import environment
from tests.real.runs import run as run_program

from .conftest import PROGRAMS, Guarded

LIMIT_S = 150


@pytest.fixture
def two(
    python: Path,
    model: Path,
    carried: Path,
    tmp_path: Path,
) -> Callable[[str], Guarded]:
    """Runs a case of `programs/guarded.py` in two processes under torchrun."""

    def launch(case: str) -> Guarded:
        (tmp_path / "run").mkdir()
        argv = [
            str(python.parent / "torchrun"), "--nproc-per-node", "2", "--rdzv-backend", "c10d",
            "--rdzv-endpoint", f"127.0.0.1:{free_port()}", str(PROGRAMS / "guarded.py"), str(carried), str(model), case,
        ]  # fmt: skip
        ran = run_program(argv, tmp_path, environment(python, tmp_path), limit_s=LIMIT_S)
        assert ran.code is not None, f"they hang:\n{ran.text[-3000:]}"
        return Guarded(ran, RunDir(tmp_path / "run"))

    return launch


def results(run: Guarded) -> list[dict[str, object]]:
    return [json.loads(path.read_text()) for path in sorted(run.ran.folder.glob("result-*.json"))]


@pytest.mark.process
def test_a_nan_on_one_rank_stops_both_in_its_step(two: Callable[[str], Guarded]) -> None:
    run = two("1:activation")
    assert run.ran.code == 0, run.text[-3000:]
    assert run.alarms == [("NUM006", 3, "checkpoint")] * 2, "each rank's own record"
    assert run.alarm("NUM006")["where"] == {"rank": 1, "step": 3, "module": "model.layers.1.mlp.down_proj"}
    assert run.text.count("doctor: error NUM006 (rank 1)") == 1, "the console of rank 0 alone"
    assert [(each["step"], each["finite"]) for each in results(run)] == [(3, True), (3, True)]
    assert (run.ran.folder / "out" / "checkpoint-3").is_dir()


@pytest.mark.process
def test_what_one_rank_alone_sees_is_decided_by_both_one_step_behind_the_log(two: Callable[[str], Guarded]) -> None:
    run = two("1:reward-nan-stops")
    assert run.ran.code == 0, run.text[-3000:]
    assert [(each["rank"], each["id"], each["data"]["policy"]) for each in run.events("alarm")] == [
        (1, "RLX006", "stop")
    ]
    assert "doctor: RLX006 on rank 1" in run.text
    first, second = results(run)
    assert first["step"] == second["step"] in (3, 4)


@pytest.mark.slow
def test_a_guard_on_rank_0_alone_only_warns(two: Callable[[str], Guarded]) -> None:
    run = two("activation-rank-0-guarded")
    assert run.ran.code == 1, run.text[-3000:]
    assert "not every rank has a guard" in run.text
    assert run.alarms[0] == ("NUM006", 3, "warn")
    assert {each[2] for each in run.alarms} == {"warn"}
    assert "probability tensor contains" in run.text, "nothing was dropped, and the next generation died of it"


@pytest.mark.slow
def test_the_rank_whose_generation_dies_names_its_weight(two: Callable[[str], Guarded]) -> None:
    run = two("1:weight")
    assert run.ran.code == 1
    assert [(each["rank"], each["id"]) for each in run.events("alarm")] == [(1, "NUM006")]
    assert "the weight `lm_head.weight` holds NaN" in run.text

"""GRPO under DeepSpeed with the callback alone: the guard reaches into the engine that Accelerate has made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.run.folder import RunDir
from tests.ports import free_port
from tests.real.runs import environment
from tests.real.runs import run as run_program

from .conftest import PROGRAMS, Guarded

#: where tools/make_real_stack.sh did not, the first run compiles DeepSpeed's collective for shared memory
FIRST_S = 300


@pytest.fixture
def train(python: Path, model: Path, carried: Path, tmp_path: Path) -> Callable[[int, str], Guarded]:
    """Runs a case of `programs/guarded_deepspeed.py` with a ZeRO stage."""

    def launch(stage: int, case: str) -> Guarded:
        (tmp_path / "run").mkdir()
        argv = [
            str(python.parent / "torchrun"), "--nproc-per-node", "1", "--rdzv-backend", "c10d",
            "--rdzv-endpoint", f"127.0.0.1:{free_port()}", str(PROGRAMS / "guarded_deepspeed.py"), str(carried),
            str(model), str(stage), case,
        ]  # fmt: skip
        ran = run_program(argv, tmp_path, environment(python, tmp_path), limit_s=FIRST_S)
        return Guarded(ran, RunDir(tmp_path / "run"))

    return launch


@pytest.mark.process
def test_a_falling_scale_is_told_long_before_its_minimum(train: Callable[[int, str], Guarded]) -> None:
    run = train(2, "overflow")
    assert run.ran.code == 0, run.text[-3000:]
    assert [(id_, policy) for id_, _, policy in run.alarms] == [("NUM005", "warn")]
    assert run.alarm("NUM005")["evidence"][0]["text"] == "loss_scale = 512 at step 7", "the third halving from 2^12"
    assert "minimum near step 16" in run.text


@pytest.mark.slow
@pytest.mark.parametrize("stage", [0, 1, 2, 3])
def test_a_nan_is_dropped_inside_the_engine_and_the_run_saved_and_stopped(
    stage: int, train: Callable[[int, str], Guarded]
) -> None:
    run = train(stage, "nan")
    assert run.ran.code == 0, run.text[-3000:]
    assert run.alarms == [("NUM006", 3, "checkpoint")]
    assert run.alarm("NUM006")["where"]["module"] == "model.layers.1.mlp.down_proj"
    assert "finished at step 3, weights finite: True" in run.text
    assert (run.ran.folder / "out" / "checkpoint-3").is_dir()

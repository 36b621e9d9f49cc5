"""DeepSpeed in fp16 on a CPU: a loss scale at its minimum, loudly and in silence, and a launch without ranks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ports import free_port

from .runs import PROGRAMS, Ran, diagnose, environment, run

pytestmark = pytest.mark.process

#: where tools/make_real_stack.sh did not, the first run compiles DeepSpeed's collective for shared memory
FIRST_S = 300
Train = Callable[..., Ran]


@pytest.fixture
def train(python: Path, model: Path, tmp_path: Path) -> Train:
    """Runs `programs/grpo_deepspeed.py` in so many processes with a ZeRO stage and a size of reward."""

    def launch(stage: int, reward: str, processes: int = 1) -> Ran:
        argv = [
            str(python.parent / "torchrun"), "--nproc-per-node", str(processes), "--rdzv-backend", "c10d",
            "--rdzv-endpoint", f"127.0.0.1:{free_port()}", str(PROGRAMS / "grpo_deepspeed.py"), str(model),
            str(stage), reward,
        ]  # fmt: skip
        return run(argv, tmp_path, environment(python, tmp_path), limit_s=FIRST_S)

    return launch


def assert_at_minimum(ran: Ran) -> None:
    """The loud end: DeepSpeed itself gives up."""
    assert ran.code == 1, ran.text[-2000:]
    answer = diagnose(ran.log)
    assert (answer.first["id"], answer.first["role"], answer.verdict) == ("DSP018", "cause", "known"), answer.words
    assert "minimum" in answer.first["headline"]
    assert "bf16" in answer.first["remedy"]["text"]


def test_the_loss_scale_falls_to_its_minimum(train: Train) -> None:
    assert_at_minimum(train(2, "1e12"))


def test_stage_0_skips_every_step_in_silence(train: Train) -> None:
    ran = train(0, "1e12")
    assert ran.code == 0, ran.text[-2000:]
    answer = diagnose(ran.log)
    assert (answer.first["id"], answer.first["role"], answer.verdict) == ("NUM005", "cause", "known"), answer.words
    assert answer.first["where"]["step"] == 1
    assert "bf16" in answer.first["remedy"]["text"]


def test_a_run_whose_rewards_fit_stays_silent(train: Train) -> None:
    ran = train(2, "1.0")
    assert ran.code == 0, ran.text[-2000:]
    answer = diagnose(ran.log)
    assert (answer.ids, answer.code) == ([], 0)


def test_without_a_launcher(python: Path, model: Path, tmp_path: Path) -> None:
    argv = [str(python), str(PROGRAMS / "grpo_deepspeed.py"), str(model), "2", "1.0"]
    ran = run(argv, tmp_path, environment(python, tmp_path))
    assert ran.code == 1, ran.text[-2000:]
    answer = diagnose(ran.log)
    assert (answer.first["id"], answer.first["confidence"], answer.verdict) == ("DSP012", "confirmed", "known")
    assert any(each.startswith("accelerate launch") for each in answer.first["remedy"]["commands"])


@pytest.mark.slow
@pytest.mark.parametrize(("stage", "processes"), [(1, 1), (3, 1), (2, 2)])
def test_every_stage_reaches_the_minimum(stage: int, processes: int, train: Train) -> None:
    assert_at_minimum(train(stage, "1e12", processes))

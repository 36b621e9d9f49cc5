"""What a run spent on rollouts that could teach nothing, in GPU-hours, rollouts and money."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.diagnosis.report import as_dict
from doctor.logs.metrics.waste import rollouts_of_step
from doctor.logs.postmortem import examine
from tests.prepared import prepared_once


def row(step: int, share: float) -> str:
    reward = 0.3 + (step % 5) / 50
    return json.dumps(
        {"loss": 0.01, "grad_norm": 0.3, "reward": reward, "reward_std": 0.2, "frac_reward_zero_std": share,
         "step_time": 36.0, "epoch": step / 100}
    ).replace('"', "'")  # fmt: skip


def report(tmp_path: Path, share: float, context: str, price: float | None = None) -> dict[str, object]:
    (tmp_path / "train.log").write_text("".join(f"{row(step, share)}\n" for step in range(1, 101)))
    (tmp_path / "settings.txt").write_text(context)
    result = examine(
        [str(tmp_path / "train.log")], context=[tmp_path / "settings.txt"], price=price, prepared=prepared_once()
    )
    return as_dict(result.diagnosis)


def test_groups_without_deviation_cost_hours_rollouts_and_money(tmp_path: Path) -> None:
    told = report(tmp_path, 0.5, "data.train_batch_size=64\nactor_rollout_ref.rollout.n=8\n", price=2.5)
    (spent,) = told["wasted"]  # type: ignore[misc, attr-defined]
    assert (spent["of"], spent["share"]) == ("groups", pytest.approx(0.5))
    assert spent["rollouts"] == pytest.approx(0.5 * 100 * 64 * 8)
    assert spent["gpu_hours"] is None  # how many GPUs there are is told nowhere
    assert spent["money"] is None
    clauses = told["target"]["summary"]  # type: ignore[index]
    assert "spent on groups without deviation: 50 % of the rollouts (about 25,600 rollouts)" in clauses


def test_with_ranks_and_a_price(tmp_path: Path) -> None:
    text = "".join(f"[rank{rank}]: ready\n" for rank in range(4)) + "World size: 4\n"
    (tmp_path / "train.log").write_text(text + "".join(f"{row(step, 0.25)}\n" for step in range(1, 101)))
    result = examine([str(tmp_path / "train.log")], price=2.0, prepared=prepared_once())
    assert result.case.world_size == 4
    (spent,) = as_dict(result.diagnosis)["wasted"]
    assert spent["gpu_hours"] == pytest.approx(0.25 * 100 * 36 * 4 / 3600)
    assert spent["money"] == pytest.approx(2 * spent["gpu_hours"])
    assert spent["rollouts"] is None


def test_a_run_that_wastes_little_is_told_nothing(tmp_path: Path) -> None:
    assert "wasted" not in report(tmp_path, 0.05, "x=1\n")


def test_a_step_of_trl_takes_the_whole_batch() -> None:
    settings = {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 2}
    assert rollouts_of_step(settings, 4) == 64
    assert rollouts_of_step(settings, None) is None
    assert rollouts_of_step({"per_device_train_batch_size": 8}, 4) is None
    assert rollouts_of_step({"generation_batch_size": 256}, None) == 256

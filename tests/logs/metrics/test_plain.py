"""Metrics that a loop of one's own prints in plain words, and prose that is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.metrics.plain import read
from doctor.logs.postmortem import examine
from tests.prepared import prepared_once

STEPS = [
    f"18:56:{each:02} INFO loop: epoch {each // 3} step {5 * each} loss {6 - each}.5 lr 2.0e-03 0.4 s"
    for each in range(6)
]
HELD = [f"18:56:40 INFO loop: epoch {each}: eval loss {5 - each}.25" for each in range(3)]


def _read(*lines: str) -> list[tuple[int | None, int | None, dict[str, float]]]:
    rows = read("train.log", [*enumerate(lines, 1)], 2026)
    return [(row.step, row.rank, dict(zip(row.names, row.values, strict=True))) for row in rows]


def test_lines_of_a_loop_are_read_with_their_steps() -> None:
    rows = _read(*STEPS[:3], HELD[0], *STEPS[3:], HELD[1], HELD[2])
    assert rows[0] == (0, None, {"loss": 6.5, "learning_rate": 0.002})
    assert rows[3] == (10, None, {"eval_loss": 5.25}), "an evaluation stands at the last step before it"
    assert [step for step, _, _ in rows] == [0, 5, 10, 10, 15, 20, 25, 25, 25]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("epoch {n}: train loss 3.41, eval loss 1.86", {"loss": 3.41, "eval_loss": 1.86}),
        ("[{n}/90] Validation Loss: 0.5 | grad norm = 1e-2", {"eval_loss": 0.5, "grad_norm": 0.01}),
        ("iter {n}, reward=nan, kl 0.02", {"reward": float("nan"), "kl": 0.02}),
        ("eval loss at the start: 6.4765", {"eval_loss": 6.4765}),
        ("step {n} aux loss 0.1 loss 2.5", {"loss": 2.5}),
        ("step {n} rss 812.5 MiB", {"memory/rss": 812.5}),
        (
            "step {n} reward/mean 0.31 policy/rollout_train_logprobs_abs_diff_mean 0.87 policy/other 4.5",
            {"reward": 0.31, "sampling/sampling_logp_difference/mean": 0.87},
        ),
    ],
)
def test_names_and_numbers(line: str, told: dict[str, float]) -> None:
    rows = _read(*(line.replace("{n}", str(each)) for each in range(3)))
    assert [repr(row[2]) for row in rows] == [repr(told)] * 3


@pytest.mark.parametrize(
    "line",
    [
        "the loss 3 of them had was read", "reward 5 users with a loss of 10%", "loss functions 1 and 2 are used",
        "loss 0.5/1.0", "Mismatch KL 0.2", "value loss 0.4", "kl 0.1 lr 0.2", "{'loss': 0.3}", "loss.py:30: reward.3",
        "a" * 400 + " loss 0.5",
    ],
)  # fmt: skip
def test_prose_and_settings_are_no_metrics(line: str) -> None:
    assert _read(*[line] * 3) == []


def test_what_comes_twice_is_no_metric() -> None:
    assert _read(*["step 1 loss 0.5"] * 2) == []
    assert len(_read(*["step 1 loss 0.5"] * 3)) == 3


def test_each_rank_counts_for_itself_and_epochs_go_on() -> None:
    lines = [
        f"[rank {rank}] epoch {epoch} step {step} loss 0.5" for epoch in (0, 1) for step in (1, 2) for rank in (0, 1)
    ]
    assert [(step, rank) for step, rank, _ in _read(*lines)] == [
        (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1), (4, 0), (4, 1)
    ]  # fmt: skip
    alone = [f"18:47:0{each} [{each % 2}] step {each // 2} loss 0.5" for each in range(8)]
    assert [rank for _, rank, _ in _read(*alone)] == [0, 1] * 4
    counted = [f"[{each}] epoch 1 loss 0.5" for each in range(8)]
    assert {rank for _, rank, _ in _read(*counted)} == {None}


def test_a_run_in_plain_words_is_judged(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(
        "\n".join([*STEPS[:3], HELD[0], *STEPS[3:], HELD[1], "18:57:01 INFO loop: step 30 loss nan", "Done"])
    )
    found = examine([str(path)], prepared=prepared_once()).diagnosis.outcome.findings
    assert [(each.problem.id, each.where.step) for each in found] == [("NUM006", 30)]

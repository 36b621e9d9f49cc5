"""A run that names a checkpoint and begins from nothing, and those that do go on or were not to."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import examine
from tests.prepared import prepared_once

HEAD = (
    "nohup: ignoring input\nloading the tokenizer of models/base\nreading the rows of data/train.jsonl\nthe model has 107456 parameters\n"
    "writing to the folder out/facts-lora\nthe schedule of the rate is linear\nthe optimizer is the fused AdamW\n"
)
NAMES = "slot of 40 steps, checkpoint out/checkpoint-40\n"
END = "{'train_runtime': 12.5, 'train_loss': 0.5}\n"


def _rows(*losses: float) -> str:
    return "".join(
        f"{{'loss': {each}, 'grad_norm': 0.{each}, 'epoch': 0.1}}\n".replace("0.0.", "0.") for each in losses
    )


def _said(tmp_path: Path, text: str) -> list[tuple[str, int | None, str]]:
    path = tmp_path / "train.log"
    path.write_text(text)
    found = examine([str(path)], prepared=prepared_once()).diagnosis.outcome
    assert not found.crashed
    return [
        (each.problem.id, each.where.line, each.words().explanation)
        for each in found.findings
        if each.problem.id == "CKP004"
    ]


@pytest.mark.parametrize(
    ("named", "losses", "finds"),
    [
        (NAMES, (3.9, 2.3, 1.8, 1.5), True),
        (NAMES, (1.4, 1.3, 1.2, 1.1), False),
        ("slot of 40 steps, checkpoint None\n", (3.9, 2.3, 1.8, 1.5), False),
        ("checkpoints are saved to out/checkpoint-40\n", (3.9, 2.3, 1.8, 1.5), False),
    ],
)
def test_losses_of_the_first_run_come_again(
    tmp_path: Path, named: str, losses: tuple[float, ...], *, finds: bool
) -> None:
    first = f"{HEAD}slot of 40 steps, checkpoint None\n{_rows(3.9, 2.3, 1.8, 1.5)}{END}"
    said = _said(tmp_path, first + f"{HEAD}{named}{_rows(*losses)}{END}")
    assert [each[:2] for each in said] == ([("CKP004", 21)] if finds else [])
    assert all("first 3 losses" in each[2] for each in said)


@pytest.mark.parametrize(
    ("between", "finds"),
    [("resume_from_checkpoint: true\n", True), ("resuming from step 10\n", True), ("epoch 1 begins\n", False)],
)
@pytest.mark.parametrize(("back", "again"), [(0, True), (11, False)])
def test_the_first_step_comes_again(tmp_path: Path, between: str, back: int, *, finds: bool, again: bool) -> None:
    first = "".join(f"step {each} loss 0.{90 - each}\n" for each in range(11))
    second = "".join(f"step {back + each} loss 0.{90 - each}\n" for each in range(9))
    said = _said(tmp_path, first + between + second)
    assert [each[:2] for each in said] == ([("CKP004", 12)] if finds and again else [])

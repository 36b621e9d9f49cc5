"""Two runs appended to one log: what the second counts to is its own, as is the schedule of its rate."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import examine
from tests.prepared import prepared_once


def run(first: int, last: int, total: int, rate: str = "1e-5") -> str:
    """A run of a Trainer, as a file holds it: its bar goes back to the beginning of the line."""
    rows = [f"\r  0%|          | 0/{total} [00:00<?, ?it/s]"]
    for step in range(first, last + 1):
        last_rate = rate if step == last else f"{(total - step + 1) / total:.3g}e-5"
        rows.append(
            f"\r      \r{{'loss': '5.{9 - step}', 'grad_norm': '4.{step}', 'learning_rate': '{last_rate}', 'epoch': '0.{step}'}}"
        )
        rows.append(f"\n\r {100 * step // total}%|##        | {step}/{total} [00:0{step}<00:00,  1.00it/s]")
    rows.append("\r      \r{'train_runtime': '9.5', 'train_samples_per_second': '4.1', 'train_steps_per_second': '1.1', "
                f"'train_loss': '5.2', 'epoch': '0.{last}'}}\n")  # fmt: skip
    return "".join(rows)


def found(tmp_path: Path, text: str) -> tuple[list[str], str | None]:
    path = tmp_path / "train.log"
    path.write_text(text)
    diagnosis = examine([str(path)], prepared=prepared_once()).diagnosis
    return [each.problem.id for each in diagnosis.outcome.findings], diagnosis.verdict


@pytest.mark.parametrize(
    ("text", "early"),
    [
        (run(1, 3, 8) + run(4, 6, 6, "0"), False),  # the first was stopped, the second is shorter and comes to its end
        (run(1, 6, 6, "0"), False),
        (run(1, 3, 3, "0") + run(4, 5, 8, "0"), True),  # the second's rate is gone with three of its steps to come
        (run(1, 3, 8, "0"), True),
    ],
)
def test_a_rate_of_zero_at_the_end_of_the_second_run_is_no_schedule_that_ended_early(
    tmp_path: Path, text: str, early: bool
) -> None:
    assert ("RLX017" in found(tmp_path, text)[0]) is early


def test_a_metric_that_is_there_is_not_said_to_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(run(3, 3, 3, "0"))
    report = examine([str(path)], prepared=prepared_once())
    assert report.diagnosis.not_seen[0] == "course"

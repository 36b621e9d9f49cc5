"""NeMo-RL's record of what it trained on: tokens nobody sampled, and log probabilities of both sides that differ."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from doctor.catalogue.problem import INFO

from .test_judgement import found


def record(folder: Path, *, gap: float = 0.01, strange: int = 0, steps: int = 6) -> Path:
    """Eight sequences a step: 20 tokens of a prompt, 40 that were sampled."""
    source = random.Random(3)  # noqa: S311 - noise, not a secret
    folder.mkdir()
    for step in range(1, steps + 1):
        lines = []
        for at in range(8):
            trainer = [-source.expovariate(1.0) for _ in range(60)]
            engine = [0.0] * 20 + [each + source.gauss(0, gap) for each in trainer[20:]]
            for place in range(20, 20 + strange):
                trainer[place], engine[place] = -6.0, 0.0
            row = {
                "content": f"12 and {at} of {step}", "rewards": float(source.random() < 0.4 + step / 20),
                "token_ids": [at // 4 + 1] * 20 + [source.randrange(100) for _ in range(40)],
                "token_loss_mask": [0] * 20 + [1] * 40, "sample_loss_mask": 1.0, "advantages": [0.5 - at % 2] * 60,
                "generation_logprobs": engine, "prev_logprobs": trainer, "input_lengths": 60,
            }  # fmt: skip
            lines.append(json.dumps({name: [value] for name, value in row.items()} | {"idx": at}))
        (folder / f"train_data_step{step}.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def test_a_record_that_is_well_is_read_and_accused_of_nothing(tmp_path: Path) -> None:
    assert {each: told for each, told in found(record(tmp_path / "run")).items() if told.severity is not INFO} == {}


def test_tokens_that_nobody_sampled_are_counted(tmp_path: Path) -> None:
    words = found(record(tmp_path / "run", strange=6))["WIT2184"].words("en")
    assert words.headline == "The engine did not sample 15% of the trained tokens (288)"


@pytest.mark.parametrize("gap", [0.3, 0.6])
def test_two_sides_that_differ_are_told_by_the_same_rule_as_in_a_log(gap: float, tmp_path: Path) -> None:
    assert "Sampler and learner disagree" in found(record(tmp_path / "run", gap=gap))["RLX015"].words("en").headline

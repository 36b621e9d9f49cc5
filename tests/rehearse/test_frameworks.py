"""Frameworks are recognised by their commands, and none is started with its own values."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.rehearse.frameworks import adapted, framework_of
from doctor.rehearse.session import Wishes

VERL = ("python3", "-m", "verl.trainer.main_ppo", "trainer.save_freq=20", "trainer.test_freq=-1", "+trainer.x=1")


@pytest.mark.parametrize(
    ("words", "framework"),
    [
        (VERL, "veRL"),
        (("python", "-m", "verl.trainer.fsdp_sft_trainer"), "veRL"),
        (("trinity", "run", "--config", "grpo.yaml"), "Trinity-RFT"),
        (("deepspeed", "--module", "openrlhf.cli.train_ppo_ray"), "OpenRLHF"),
        (("ray", "job", "submit", "--", "python3", "-m", "openrlhf.cli.train_ppo_ray"), "OpenRLHF"),
        (("accelerate", "launch", "train_grpo.py", "--output_dir", "verl-like"), ""),
        (("python", "my_verl_trainer.py"), ""),
        (("trl", "grpo", "--model_name_or_path", "x"), ""),
    ],
)
def test_a_framework_is_recognised(words: tuple[str, ...], framework: str) -> None:
    assert framework_of(words) == framework


def test_verl_gets_overrides_where_there_is_a_card(tmp_path: Path) -> None:
    given = adapted(VERL, tmp_path, Wishes(), gpu=True)
    assert given.argv[: len(VERL)] == VERL
    overrides = dict(each.removeprefix("++").split("=", 1) for each in given.argv[len(VERL) :])
    assert overrides["trainer.total_training_steps"] == "2"
    assert overrides["trainer.save_freq"] == "2"
    assert "trainer.test_freq" not in overrides, "it is off"
    assert overrides["trainer.logger"] == "[console]"
    assert overrides["trainer.default_local_dir"].startswith(str(tmp_path))


@pytest.mark.parametrize(("words", "gpu"), [(VERL, False), (("trinity", "run"), True), (("trinity", "run"), False)])
def test_what_cannot_be_rehearsed_is_not_started(words: tuple[str, ...], tmp_path: Path, *, gpu: bool) -> None:
    given = adapted(words, tmp_path, Wishes(), gpu=gpu)
    assert given.argv == ()
    assert given.framework


def test_any_other_command_is_left_as_it_is(tmp_path: Path) -> None:
    words = ("accelerate", "launch", "train.py")
    assert adapted(words, tmp_path, Wishes(), gpu=False).argv == words

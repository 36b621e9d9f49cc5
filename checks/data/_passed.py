"""Reward functions and what TRL hands to them besides the columns of the dataset."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.facts.packages import Packages
from doctor.facts.script import RewardFunction

#: keyword -> releases that pass it, read in `_calculate_rewards` of each release
#: https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
PASSED = (
    ("prompts", ">=0.14"),
    ("completions", ">=0.14"),
    ("completion_ids", ">=0.18"),
    ("trainer_state", ">=0.20"),
    ("log_extra", ">=1.0"),
    ("log_metric", ">=1.0"),
)

#: columns of the dataset that are not handed on
NEVER_PASSED = {"prompt", "completion", "completion_ids"}


def signature_of(function: RewardFunction) -> tuple[Observed, ...]:
    """A reward function's parameters as evidence."""
    text = f"{function.name}({', '.join(function.parameters)})"
    return (Observed.quoted(function.place.file, text, function.place.line),)


def passed(packages: Packages) -> list[str]:
    """List the keywords that the installed release passes to every reward function."""
    return [name for name, specifier in PASSED if packages.matches("trl", specifier)]

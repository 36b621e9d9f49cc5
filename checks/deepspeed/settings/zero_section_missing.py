"""Judges deepspeed-zero-section-missing (DSP007), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Where, found
from doctor.catalogue.words import words_of
from doctor.checks.deepspeed._helpers import unread
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.launch import Launch
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def zero_section_missing(launch: Launch, deepspeed: DeepspeedConfig | None, training: Training | None) -> Judgement:
    """Only where accelerate reads the file."""
    if deepspeed is None:
        yield from unread(training)
        return
    by_trainer = training is not None and training.trainer is not None
    if launch.kind not in {"accelerate", "trl"} and not by_trainer:
        return
    if deepspeed.broken or not deepspeed.settings:
        return
    if any(name == "zero_optimization" or name.startswith("zero_optimization.") for name in deepspeed.settings):
        return
    file = deepspeed.path or (deepspeed.named_by.file if deepspeed.named_by else "the DeepSpeed configuration")
    place = Where(file=deepspeed.path) if deepspeed.path else None
    commands = ('"zero_optimization": {"stage": 2}',)
    yield found(PROBLEM, MESSAGE, file=file.rpartition("/")[2], where=place, commands=commands)

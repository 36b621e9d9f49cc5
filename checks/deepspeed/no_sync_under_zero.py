"""Judges no-sync-under-zero (DSP026), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training, effective_value
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem

#: releases whose training loop enters `no_sync` under DeepSpeed: 4.46.2 in the last micro-batch, the next two in all
#: others (https://github.com/huggingface/transformers/blob/v4.46.2/src/transformers/trainer.py, v4.46.3, v4.47.0);
#: 4.47.1 leaves DeepSpeed out
ENTERS = ">=4.46.2,<4.47.1"
ENTERS_WHEN_ACCUMULATING = ">=4.46.3,<4.47.1"
#: https://github.com/deepspeedai/DeepSpeed/blob/v0.16.0/deepspeed/runtime/engine.py; 0.15.4 has no such method
REFUSES = ">=0.16"


@check(PROBLEM)
def no_sync_under_zero(training: Training, world: World, packages: Packages) -> Judgement:
    """Of the Trainer's own loop; Accelerate enters nothing where there is one process."""
    if training.trainer is None or world.zero_stage not in {2, 3} or world.processes is None or world.processes < 2:
        return
    if not packages.matches("transformers", ENTERS) or not packages.matches("deepspeed", REFUSES):
        return
    accumulation = effective_value(training, packages, "gradient_accumulation_steps")
    if packages.matches("transformers", ENTERS_WHEN_ACCUMULATING) and (
        accumulation is None or (whole(accumulation.value) or 0) < 2
    ):
        return
    versions = tuple(
        Observed.quoted("packages", f"{name} {packages.version(name)}") for name in ("transformers", "deepspeed")
    )
    setting = training.get("gradient_accumulation_steps")
    yield found(
        PROBLEM, TOML["log"], where=place_of(setting, otherwise=training.trainer_place), confidence=LIKELY,
        evidence=(*quoted(setting), *versions), commands=TOML.commands, stage=world.zero_stage,
    )  # fmt: skip

"""Judges nccl-timeout-unread (NCC010), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.shared.communication import group_size, shown, value_of, where_set
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def timeout_unread(environment: Environment, training: Training, world: World) -> Judgement:
    """Judge training with Transformers or TRL, which have an argument for it."""
    value = value_of(environment, training, "NCCL_TIMEOUT")
    if not value or not training.complete or training.get("ddp_timeout") is not None or group_size(world, None) < 2:
        return
    if training.config_class is None:
        return
    seconds = value if value.isdigit() else "7200"
    yield found(
        PROBLEM,
        MESSAGE,
        value=value,
        confidence=LIKELY,
        where=where_set(training, "NCCL_TIMEOUT"),
        commands=(f"--ddp_timeout {seconds}",),
        evidence=shown("NCCL_TIMEOUT", value),
    )

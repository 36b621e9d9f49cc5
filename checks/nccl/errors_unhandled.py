"""Judges nccl-errors-unhandled (NCC009), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.shared.communication import first_set, group_size, shown, where_set
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


NAMES = ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING")  # torch takes the first that is set


@check(PROBLEM)
def errors_unhandled(
    environment: Environment,
    world: World | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
    training: Training | None,
) -> Judgement:
    """Judge the name that torch would take."""
    if group_size(world, None, verl_config, trinity_config) < 2:
        return
    name, value = first_set(environment, training, NAMES) or ("", "")
    if value.strip() == "0":
        yield found(
            PROBLEM, MESSAGE, name=name, where=where_set(training, name), commands=(f"unset {name}",),
            evidence=shown(name, "0"),
        )  # fmt: skip

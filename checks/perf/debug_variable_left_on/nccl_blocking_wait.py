"""Judges PRF6399/nccl_blocking_wait, a row of debug-variable-left-on; its words stand in the TOML of the table."""

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


NAMES = ("TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT")  # torch takes the first that is set


@check(PROBLEM)
def nccl_blocking_wait(
    environment: Environment,
    world: World | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
    training: Training | None,
) -> Judgement:
    """Judge the name that torch would take."""
    name, value = first_set(environment, training, NAMES) or ("", "")
    if value.lower() in {"1", "y", "yes", "t", "true"} and group_size(world, None, verl_config, trinity_config) > 1:
        yield found(
            PROBLEM, MESSAGE, name=name, where=where_set(training, name), commands=(f"unset {name}",),
            evidence=shown(name, value),
        )  # fmt: skip

"""Judges PRF6399/distributed_debug, a row of debug-variable-left-on; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.shared.communication import group_size, shown, value_of, where_set
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


VARIABLE = "TORCH_DISTRIBUTED_DEBUG"


@check(PROBLEM)
def distributed_debug_detail(
    environment: Environment,
    world: World | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
    training: Training | None,
) -> Judgement:
    """Judge groups of several ranks."""
    value = value_of(environment, training, VARIABLE) or ""
    ranks = group_size(world, serving, verl_config, trinity_config)
    if value.upper() != "DETAIL" or ranks < 2:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        ranks=ranks,
        where=where_set(training, VARIABLE),
        commands=(f"unset {VARIABLE}",),
        evidence=shown(VARIABLE, value),
    )

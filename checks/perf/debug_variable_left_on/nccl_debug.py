"""Judges PRF6399/nccl_debug, a row of debug-variable-left-on; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.problem import WARNING
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
START = TOML["start"]
EVERY = TOML["every"]


PER_OPERATION = frozenset({"ALL", "COLL", "CALL"})


@check(PROBLEM)
def debug_left_on(
    environment: Environment,
    world: World | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
    training: Training | None,
) -> Judgement:
    """Judge runs of several ranks; output that goes to files of its own is meant."""
    level = (value_of(environment, training, "NCCL_DEBUG") or "").upper()
    if level not in {"INFO", "TRACE"} or value_of(environment, training, "NCCL_DEBUG_FILE"):
        return
    if group_size(world, serving, verl_config, trinity_config) < 2:
        return
    subsystems = value_of(environment, training, "NCCL_DEBUG_SUBSYS") or ""
    where = where_set(training, "NCCL_DEBUG")
    fix = ("export NCCL_DEBUG=WARN",)
    if level == "TRACE" or not PER_OPERATION.isdisjoint(subsystems.upper().split(",")):
        setting = "NCCL_DEBUG=TRACE" if level == "TRACE" else f"NCCL_DEBUG_SUBSYS={subsystems}"
        name, _, value = setting.partition("=")
        yield found(
            PROBLEM, EVERY, setting=setting, severity=WARNING, where=where, commands=fix, evidence=shown(name, value)
        )
    else:
        yield found(PROBLEM, START, value=level, where=where, commands=fix, evidence=shown("NCCL_DEBUG", level))

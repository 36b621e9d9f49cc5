"""Judges NCC8677/interface, a row of address-is-loopback; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.shared.communication import (
    is_usable,
    machines_of,
    runs_elsewhere,
    selected,
    shown,
    value_of,
    where_set,
)
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.network import Network
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


VARIABLE = "NCCL_SOCKET_IFNAME"


@check(PROBLEM)
def sockets_over_loopback(
    launch: Launch,
    environment: Environment,
    network: Network,
    gpus: Gpus,
    world: World,
    training: Training | None,
) -> Judgement:
    """Judge what NCCL would choose from; a machine that has no other interface is judged too."""
    value = value_of(environment, training, VARIABLE)
    if value is None or len(value) < 2 or runs_elsewhere(launch) or machines_of(world) < 2:
        return
    usable = [each.name for each in selected(value, network.interfaces) if is_usable(each)]
    if usable != ["lo"] or world.backend == "cpu" or not gpus.gpus:
        return
    others = [each.name for each in network.interfaces if is_usable(each) and each.name != "lo"]
    yield found(
        PROBLEM,
        MESSAGE,
        value=value,
        machines=world.machines,
        where=where_set(training, VARIABLE),
        commands=(f"export {VARIABLE}={others[0]}",) if others else (),
        evidence=shown(VARIABLE, value),
    )

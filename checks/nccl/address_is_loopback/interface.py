"""Judges NCC8677/interface, a row of address-is-loopback; its words stand in the TOML of the table."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, Skip, found
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
    environment: Environment,
    world: World,
    launch: Launch | None,
    network: Network | None,
    gpus: Gpus | None,
    training: Training | None,
) -> Judgement:
    """Judge what NCCL would choose from; a machine that has no other interface is judged too."""
    value = value_of(environment, training, VARIABLE)
    if value is None or len(value) < 2 or machines_of(world) < 2:
        return
    if launch is None or network is None or gpus is None:  # of a run that is over: the name alone
        if value.removeprefix("=") == "lo":
            yield _told(value, world, training, ())
        else:
            yield Skip("which interfaces and GPUs the machine has is not known")
        return
    usable = [each.name for each in selected(value, network.interfaces) if is_usable(each)]
    if usable != ["lo"] or runs_elsewhere(launch) or world.backend == "cpu" or not gpus.gpus:
        return
    yield _told(value, world, training, [each.name for each in network.interfaces if is_usable(each)])


def _told(value: str, world: World, training: Training | None, usable: Sequence[str]) -> Finding:
    others = [each for each in usable if each != "lo"]
    return found(
        PROBLEM,
        MESSAGE,
        value=value,
        machines=world.machines,
        where=where_set(training, VARIABLE),
        commands=(f"export {VARIABLE}={others[0]}",) if others else (),
        evidence=shown(VARIABLE, value),
    )

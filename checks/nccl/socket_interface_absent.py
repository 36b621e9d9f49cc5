"""Judges socket-interface-absent (NCC001), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.problem import ERROR
from doctor.catalogue.shared.communication import (
    group_size,
    interface_absent_on_nodes,
    is_usable,
    judged_by_node,
    names,
    runs_elsewhere,
    selected,
    shown,
    value_of,
    where_set,
)
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.cluster import Cluster
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.network import Interface, Network
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
ABSENT = TOML["absent"]
DOWN = TOML["down"]
ON_NODES = TOML["on_nodes"]
LOG_MESSAGE = TOML["log"]
UNFILLED = TOML["unfilled"]


VARIABLE = "NCCL_SOCKET_IFNAME"


@check(PROBLEM)
def socket_interface_absent(
    launch: Launch,
    environment: Environment,
    network: Network,
    gpus: Gpus,
    world: World | None,
    serving: Serving | None,
    training: Training | None,
) -> Judgement:
    """Judge runs of several ranks that start on this machine itself."""
    value = value_of(environment, training, VARIABLE)
    if value is None or len(value) < 2 or runs_elsewhere(launch) or group_size(world, serving) < 2 or not gpus.gpus:
        return
    matching = selected(value, network.interfaces)
    if any(is_usable(each) for each in matching):
        return
    usable = [each.name for each in network.interfaces if is_usable(each) and each.name != "lo"]
    yield found(
        PROBLEM,
        DOWN if matching else ABSENT,
        value=value,
        present=names(matching or network.interfaces),
        where=where_set(training, VARIABLE),
        commands=(f"export {VARIABLE}={usable[0]}",) if usable else (f"unset {VARIABLE}",),
        evidence=shown(VARIABLE, value),
    )


@check(PROBLEM)
def nccl_interface_absent_on_nodes(cluster: Cluster, launch: Launch | None) -> Judgement:
    """Where no command says what each node is to start."""
    if not judged_by_node(launch):
        yield from interface_absent_on_nodes(
            PROBLEM, ON_NODES, cluster, VARIABLE, _lacks, severity=ERROR, confidence=CONFIRMED
        )


def _lacks(value: str, interfaces: tuple[Interface, ...]) -> bool:
    """No interface that the value leaves can be used; a value of one letter is none to NCCL."""
    return len(value) > 1 and not any(is_usable(each) for each in selected(value, interfaces))


def explain(hits: Hits) -> Finding:
    """An empty address tells of an interface without one; why there is none it does not say."""
    said = bool(hits.of(0))
    return found(
        PROBLEM, LOG_MESSAGE if said else UNFILLED, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if said else LIKELY, value=hits.config.get(VARIABLE) or "",
    )  # fmt: skip

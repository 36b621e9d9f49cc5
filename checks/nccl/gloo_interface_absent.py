"""Judges gloo-interface-absent (NCC003), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.shared.communication import (
    group_size,
    interface_absent_on_nodes,
    is_usable,
    judged_by_node,
    names,
    runs_elsewhere,
    shown,
    value_of,
    where_set,
)
from doctor.catalogue.words import words_of
from doctor.facts.cluster import Cluster
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.network import Interface, Network
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
ON_NODES = TOML["on_nodes"]
NO_NAME = TOML["no_name"]


VARIABLE = "GLOO_SOCKET_IFNAME"


@check(PROBLEM)
def gloo_interface_absent(
    launch: Launch,
    environment: Environment,
    network: Network,
    world: World | None,
    serving: Serving | None,
    training: Training | None,
) -> Judgement:
    """Certain where vLLM starts or the training is on the CPU; elsewhere gloo may never be asked for."""
    value = value_of(environment, training, VARIABLE)
    if not value or runs_elsewhere(launch):
        return
    usable = {each.name for each in network.interfaces if is_usable(each)}
    missing = [each for each in value.split(",") if each not in usable]
    colocate = training is not None and training.value("use_vllm") is True and training.value("vllm_mode") == "colocate"
    sure = serving is not None or colocate or (world is not None and world.backend == "cpu")
    if not missing or not (sure or group_size(world, serving) > 1):
        return
    others = sorted(usable - {"lo"})
    yield found(
        PROBLEM,
        MESSAGE,
        missing=", ".join(f"`{each}`" for each in missing),
        present=names(network.interfaces),
        severity=ERROR if sure else WARNING,
        confidence=CONFIRMED if sure else LIKELY,
        where=where_set(training, VARIABLE),
        commands=(f"export {VARIABLE}={others[0]}",) if others else (f"unset {VARIABLE}",),
        evidence=shown(VARIABLE, value),
    )


@check(PROBLEM)
def gloo_interface_no_name(environment: Environment, network: Network | None, training: Training | None) -> Judgement:
    """Where the interfaces are not known: NCCL's `^name` and `=name` are names of none.

    Gloo splits the value at commas and looks for an interface of each name
    (https://github.com/pytorch/pytorch/blob/v2.7.0/torch/csrc/distributed/c10d/init.cpp).
    """
    value = value_of(environment, training, VARIABLE) if network is None else None
    wrong = [each for each in (value or "").split(",") if each.startswith(("^", "="))]
    if value and wrong:
        yield found(
            PROBLEM,
            NO_NAME,
            value=value,
            severity=ERROR,
            where=where_set(training, VARIABLE),
            commands=(f"unset {VARIABLE}",),
            evidence=shown(VARIABLE, value),
        )


@check(PROBLEM)
def gloo_interface_absent_on_nodes(cluster: Cluster, launch: Launch | None) -> Judgement:
    """Where no command says what each node is to start."""
    if not judged_by_node(launch):
        yield from interface_absent_on_nodes(
            PROBLEM, ON_NODES, cluster, VARIABLE, _lacks, severity=WARNING, confidence=LIKELY
        )


def _lacks(value: str, interfaces: tuple[Interface, ...]) -> bool:
    """One of the names is no usable interface."""
    return not set(value.split(",")) <= {each.name for each in interfaces if is_usable(each)}

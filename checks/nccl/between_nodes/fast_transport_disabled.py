"""Judges fast-transport-disabled (NCC006), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.shared.communication import machines_of, ranks_here, shown, value_of, where_set
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.network import Network
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
NVLINK = TOML["nvlink"]
SOCKETS = TOML["sockets"]
INFINIBAND = TOML["infiniband"]


def _p2p_off(environment: Environment, training: Training | None) -> tuple[str, str] | None:
    """Variable and value that switch P2P off (NCCL's src/graph/paths.cc)."""
    if value_of(environment, training, "NCCL_P2P_DISABLE") == "1":
        return "NCCL_P2P_DISABLE", "1"
    level = value_of(environment, training, "NCCL_P2P_LEVEL")
    return ("NCCL_P2P_LEVEL", level) if level in {"LOC", "0"} else None


@check(PROBLEM)
def inside_the_machine(
    environment: Environment,
    gpus: Gpus,
    world: World | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
    training: Training | None,
) -> Judgement:
    """P2P off is no loss where there is no NVLink; together with shared memory off it always is."""
    off = _p2p_off(environment, training)
    if off is None or ranks_here(world, serving, verl_config, trinity_config) < 2:
        return
    setting, where, fix = "=".join(off), where_set(training, off[0]), (f"unset {off[0]}",)
    if value_of(environment, training, "NCCL_SHM_DISABLE") == "1":
        second = "NCCL_SHM_DISABLE=1"
        evidence = (*shown(*off), *shown("NCCL_SHM_DISABLE", "1"))
        fix = (f"unset {off[0]} NCCL_SHM_DISABLE",)
        yield found(PROBLEM, SOCKETS, first=setting, second=second, where=where, commands=fix, evidence=evidence)
        return
    visible = world.visible_gpus if world is not None and world.visible_gpus is not None else None
    linked = [gpu for gpu in gpus.gpus if gpu.nvlinks_active and (visible is None or gpu.index in visible)]
    if len(linked) > 1:
        yield found(
            PROBLEM, NVLINK, setting=setting, count=len(linked), where=where, commands=fix, evidence=shown(*off)
        )


@check(PROBLEM)
def between_machines(
    environment: Environment,
    network: Network,
    world: World | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
    training: Training | None,
) -> Judgement:
    """RDMA devices that exist and a run that spans machines."""
    value = value_of(environment, training, "NCCL_IB_DISABLE") or ""
    machines = machines_of(world, verl_config, trinity_config)
    if not value.strip().isdigit() or int(value) == 0 or machines < 2 or not network.infiniband:
        return
    yield found(
        PROBLEM,
        INFINIBAND,
        value=value,
        devices=", ".join(network.infiniband[:4]),
        machines=machines,
        where=where_set(training, "NCCL_IB_DISABLE"),
        commands=("unset NCCL_IB_DISABLE",),
        evidence=shown("NCCL_IB_DISABLE", value),
    )

"""Judges infiniband-transport-failed (NCC014), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Callable

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.settings import whole
from doctor.catalogue.shared.communication import machines_of, runs_elsewhere, shown, value_of, where_set
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.network import Network
from doctor.facts.training import Training
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
GID = TOML["gid"]
VARIABLE, CARDS = "NCCL_IB_GID_INDEX", "NCCL_IB_HCA"


@check(PROBLEM)
def gid_index_unset(
    launch: Launch,
    environment: Environment,
    network: Network,
    world: World | None,
    training: Training | None,
    verl: VerlConfig | None,
) -> Judgement:
    """Of RoCE ports that are up, on this machine: NCCL asks each one for the address of that index."""
    value = value_of(environment, training, VARIABLE)
    index = whole(value) if value is not None else None
    if index is None or index < 0 or runs_elsewhere(launch) or machines_of(world, verl) < 2:
        return
    used = _chosen(value_of(environment, training, CARDS) or "")
    up = [each for each in network.ports if each.state == "ACTIVE" and each.link_layer == "Ethernet"]
    empty = [each for each in up if used(each.device) and each.gids and index not in each.gids]
    if not empty:
        return
    port = empty[0]
    newer = next((at for at, kind in port.gids.items() if kind == "RoCE v2"), None)
    yield found(
        PROBLEM, GID, where=where_set(training, VARIABLE), confidence=LIKELY, index=index, device=port.device,
        known=", ".join(f"{at} ({kind})" for at, kind in port.gids.items()),
        commands=(f"export {VARIABLE}={newer}",) if newer is not None else (f"unset {VARIABLE}",),
        evidence=(*shown(VARIABLE, str(index)), Observed.quoted(f"gids of {port.device}/{port.number}", "zero")),
    )  # fmt: skip


def _chosen(value: str) -> Callable[[str], bool]:
    """Which devices NCCL_IB_HCA leaves: names or their beginnings, `=` exact ones, `^` all others.

    https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-ib-hca
    """
    without = value.startswith("^")
    rest = value.removeprefix("^")
    exact, wanted = rest.startswith("="), [each.partition(":")[0] for each in rest.removeprefix("=").split(",") if each]

    def among(device: str) -> bool:
        return any(device == each if exact else device.startswith(each) for each in wanted)

    return lambda device: not wanted or among(device) != without


def explain(hits: Hits) -> Finding:
    """With the peer where NCCL names it."""
    other = hits.first.groups.get("other")
    peer = (hits.get("peer") or "").partition("<")[0]
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        peer=peer or "",
        other=other,
    )

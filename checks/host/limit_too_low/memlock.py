"""Judges HST9781/memlock, a row of limit-too-low; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.shared.communication import machines_of, runs_elsewhere, value_of
from doctor.catalogue.shared.sizes import MIB, size
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.host import Host
from doctor.facts.launch import Launch
from doctor.facts.network import Network
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


SMALL_BYTES = 64 * MIB  # 64 KiB and 8 MiB are the kernel's and systemd's defaults


@check(PROBLEM)
def memlock_limited(
    host: Host,
    launch: Launch,
    network: Network,
    environment: Environment,
    world: World | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
    training: Training | None,
) -> Judgement:
    """Judge runs over several machines that have RDMA devices and use them."""
    machines, limit = machines_of(world, verl_config, trinity_config), host.memlock_soft_bytes
    if machines < 2 or not network.infiniband or runs_elsewhere(launch) or limit is None:
        return
    exempt = host.user_is_root and host.container is None
    if limit < 0 or limit > SMALL_BYTES or exempt or value_of(environment, training, "NCCL_IB_DISABLE") == "1":
        return
    contained = host.container in {"docker", "podman"}
    yield found(
        PROBLEM,
        MESSAGE,
        limit=size(limit) if limit >= MIB else f"{limit // 1024} KiB",
        device=network.infiniband[0],
        machines=machines,
        confidence=LIKELY,
        commands=("docker run --ulimit memlock=-1" if contained else "ulimit -l unlimited",),
        evidence=(Observed.quoted("RLIMIT_MEMLOCK", f"soft {limit} bytes"),),
    )

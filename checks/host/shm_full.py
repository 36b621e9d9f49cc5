"""Judges shm-full (HST002), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.shared.communication import ranks_here, runs_elsewhere
from doctor.catalogue.shared.sizes import GIB, MIB, size
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpus
from doctor.facts.host import Host
from doctor.facts.launch import Launch
from doctor.facts.serving import Serving
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


LITTLE_BYTES = 256 * MIB


@check(PROBLEM)
def shm_full(
    host: Host,
    launch: Launch,
    gpus: Gpus,
    world: World | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
) -> Judgement:
    """Judge a large one; a small one is another problem."""
    total, free = host.shm_total_bytes, host.shm_free_bytes
    if total is None or free is None or total < GIB or free >= LITTLE_BYTES or runs_elsewhere(launch):
        return
    if not gpus.gpus or ranks_here(world, serving, verl_config, trinity_config) < 2:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        free=size(free),
        unowned=size(host.shm_unowned_bytes) if host.shm_unowned_bytes else "",
        total=size(total),
        confidence=LIKELY,
        commands=("ls -lhS /dev/shm", "fuser -v /dev/shm/*"),
        evidence=(Observed.quoted("statvfs", f"{free} of {total} bytes free in /dev/shm"),),
    )

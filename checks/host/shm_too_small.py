"""Judges shm-too-small (HST001), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Skip, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.shared.allocation import container_shm
from doctor.catalogue.shared.communication import ranks_here, runs_elsewhere
from doctor.catalogue.shared.sizes import GIB, MIB, size
from doctor.catalogue.signature import Hits
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
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]
CONTAINER = TOML["container"]


#: a bus error has other reasons: a mapped file that is cut short, a disk that fails
_BUS_ERROR = frozenset({1, 4})
WANTED_BYTES = GIB  # "--shm-size=1g" in NCCL's manual
DOCKERS_DEFAULT_BYTES = 64 * MIB

COMMANDS = {
    "docker": "docker run --shm-size=16g",
    "podman": "podman run --shm-size=16g",
    "kubernetes": "emptyDir: {medium: Memory, sizeLimit: 16Gi}",
}


@check(PROBLEM)
def shm_too_small(
    host: Host,
    launch: Launch,
    gpus: Gpus,
    world: World | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
) -> Judgement:
    """Docker's default fails with several processes; between it and 1 GiB it depends on their number."""
    ranks = ranks_here(world, serving, verl_config, trinity_config)
    if ranks < 2 or not gpus.gpus or runs_elsewhere(launch):
        return
    if host.shm_total_bytes is None:
        yield Skip("the size of /dev/shm is not known")
        return
    if host.shm_total_bytes >= WANTED_BYTES:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        size=size(host.shm_total_bytes),
        ranks=ranks,
        severity=ERROR if host.shm_total_bytes <= DOCKERS_DEFAULT_BYTES else WARNING,
        confidence=LIKELY,
        commands=(COMMANDS.get(host.container or "", "mount -o remount,size=16G /dev/shm"),),
        evidence=(Observed.quoted("statvfs", f"{host.shm_total_bytes} bytes in /dev/shm"),),
    )


@check(PROBLEM)
def container_shm_too_small(
    launch: Launch, world: World | None, serving: Serving | None, verl_config: VerlConfig | None
) -> Judgement:
    """The size is that of the container which the command makes, not this machine's."""
    total = container_shm(launch)
    ranks = ranks_here(world, serving, verl_config, None)
    if total is None or total >= WANTED_BYTES or ranks < 2:
        return
    yield found(
        PROBLEM,
        CONTAINER,
        size=size(total),
        ranks=ranks,
        severity=ERROR if total <= DOCKERS_DEFAULT_BYTES else WARNING,
        confidence=LIKELY,
        commands=("--shm-size=16g",),
        evidence=(Observed.quoted("launch command", f"image {launch.image}, /dev/shm of {total} bytes"),),
    )


def explain(hits: Hits) -> Finding:
    """Of a bus error torch itself only guesses the reason."""
    guessed = all(hit.signature in _BUS_ERROR for hit in hits)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY if guessed else CONFIRMED
    )

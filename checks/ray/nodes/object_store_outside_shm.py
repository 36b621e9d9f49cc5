"""Judges ray-object-store-outside-shm (RAY005), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.shared.communication import runs_elsewhere
from doctor.catalogue.shared.ray_use import GIB, uses_ray
from doctor.catalogue.shared.sizes import size
from doctor.catalogue.words import words_of
from doctor.facts.host import Host
from doctor.facts.launch import Launch
from doctor.facts.ray_cluster import RayCluster
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
SLOW = TOML["slow"]
REFUSED = TOML["refused"]


SHARE = 0.3  # DEFAULT_OBJECT_STORE_MEMORY_PROPORTION in ray/_private/ray_constants.py
REFUSED_ABOVE_BYTES = 10**10  # REQUIRE_SHM_SIZE_THRESHOLD there


@check(PROBLEM)
def object_store_outside_shm(
    host: Host, launch: Launch, ray_cluster: RayCluster | None, serving: Serving | None
) -> Judgement:
    """A cluster that runs already has its store; one elsewhere has it elsewhere."""
    free, memory = host.shm_free_bytes, host.memory_available_bytes
    if not uses_ray(launch, serving) or runs_elsewhere(launch) or free is None or memory is None:
        return
    running = ray_cluster is not None and (ray_cluster.raylet_running or ray_cluster.address is not None)
    option = launch.option("object_store_memory")
    if (running and launch.kind != "ray") or (launch.kind == "ray" and launch.subcommand != "start"):
        return
    if launch.option("plasma_directory") is not None:
        return
    asked = option.value if option is not None and isinstance(option.value, int) else None
    usable = min(memory, host.memory_limit_bytes or memory)
    store = asked or int(min(usable * SHARE, max(REFUSED_ABOVE_BYTES, free * 0.95)))
    if free >= store:
        return
    refused = asked is not None and asked > REFUSED_ABOVE_BYTES
    yield found(
        PROBLEM,
        REFUSED if refused else SLOW,
        store=size(store),
        free=size(free),
        severity=ERROR if refused else WARNING,
        confidence=CONFIRMED if refused else LIKELY,
        commands=(f"docker run --shm-size={store // GIB + 2}g" if host.container else "df -h /dev/shm",),
        evidence=(Observed.quoted("statvfs", f"{free} bytes free in /dev/shm"),),
    )

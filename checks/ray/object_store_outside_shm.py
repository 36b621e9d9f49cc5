"""Ray's object store does not fit into the shared memory.

## What it means
Ray takes 30% of the memory for its object store and puts it on /dev/shm, if there is room. If not, it takes the
folder for temporary files, and refuses to start with a store of more than 10 GB that was asked for by hand.
## What it does to a run
Everything that Ray's processes hand to each other, rollouts and weights among them, goes through a disk: many times
slower, and the disk fills up.
## What to do
Enlarge /dev/shm (for a container `--shm-size`, above 30% of the memory), or give Ray a smaller store.
## How it is found
Free space of /dev/shm and the memory that is available, by Ray's own rule, where the command starts Ray on this
machine.
## References
https://github.com/ray-project/ray/blob/ray-2.50.0/python/ray/_private/services.py
https://docs.ray.io/en/latest/ray-core/scheduling/memory-management.html
"""

from __future__ import annotations

from doctor.checks.host._helpers import size
from doctor.checks.nccl._helpers import runs_elsewhere
from doctor.checks.ray._helpers import GIB, uses_ray
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.facts.host import Host
from doctor.facts.launch import Launch
from doctor.facts.ray_cluster import RayCluster
from doctor.facts.serving import Serving

PROBLEM = Problem(id="RAY005", name="ray-object-store-outside-shm", severity=WARNING, since="0.1")
SHARE = 0.3  # DEFAULT_OBJECT_STORE_MEMORY_PROPORTION in ray/_private/ray_constants.py
REFUSED_ABOVE_BYTES = 10**10  # REQUIRE_SHM_SIZE_THRESHOLD there

SLOW = Message(
    en=Words(
        "Ray's object store of {store} does not fit into the {free} free in /dev/shm",
        "Ray puts it into the folder for temporary files instead: rollouts and weights then pass through a disk, many "
        "times slower, and fill it.",
        "Enlarge /dev/shm to more than 30% of the memory, for a container with `--shm-size`.",
    ),
    zh=Words(
        "Ray 的对象存储需要 {store},而 /dev/shm 只剩 {free}",
        "Ray 会改把它放到临时目录:rollout 与权重都要经过磁盘,慢许多倍,还会写满磁盘。",
        "把 /dev/shm 扩大到内存的 30% 以上,容器用 `--shm-size`。",
    ),
)
REFUSED = Message(
    en=Words(
        "`--object-store-memory` asks for {store}, and /dev/shm has {free} free",
        "Ray refuses to start: `The configured object store size exceeds /dev/shm size`.",
        "Ask for less, or enlarge /dev/shm.",
    ),
    zh=Words(
        "`--object-store-memory` 要求 {store},而 /dev/shm 只剩 {free}",
        "Ray 会拒绝启动:`The configured object store size exceeds /dev/shm size`。",
        "减小该值,或扩大 /dev/shm。",
    ),
)


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
        evidence=(Evidence("statvfs", f"{free} bytes free in /dev/shm"),),
    )

"""The shared memory of this machine is full.

## What it means
`/dev/shm` is large enough and used up, most often by files that killed processes left behind (`nccl-...`, `psm_...`,
`sem.mp-...`, Ray's object store).
## What it does to a run
Like too small a one: NCCL cannot create its segment, a worker dies with a bus error, or `No space left on device`.
## What to do
Look who uses it, end what is left over and delete its files.
## How it is found
Free space of /dev/shm, and the GPU processes that the command starts on this machine.
## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#shared-memory
"""

from __future__ import annotations

from doctor.checks.host._helpers import GIB, MIB, size
from doctor.checks.nccl._helpers import ranks_here, runs_elsewhere
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.gpus import Gpus
from doctor.facts.host import Host
from doctor.facts.launch import Launch
from doctor.facts.serving import Serving
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

PROBLEM = Problem(id="HST002", name="shm-full", severity=WARNING, since="0.1")
LITTLE_BYTES = 256 * MIB

MESSAGE = Message(
    en=Words(
        "The shared memory /dev/shm has {free} left of {total}",
        "Files of processes that were killed are the usual reason. NCCL, vLLM's workers and data loaders then fail "
        "with a bus error or `No space left on device`.",
        "Look what lies there, end the processes that are left over, and delete their files.",
    ),
    zh=Words(
        "共享内存 /dev/shm 共 {total},只剩 {free}",
        "通常是被杀掉的进程留下的文件。NCCL、vLLM 的工作进程与数据加载进程会因总线错误或 `No space left on device` 失"
        "败。",
        "查看其中的文件,结束残留进程并删除它们的文件。",
    ),
)


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
        total=size(total),
        confidence=LIKELY,
        commands=("ls -lhS /dev/shm", "fuser -v /dev/shm/*"),
        evidence=(Evidence("statvfs", f"{free} of {total} bytes free in /dev/shm"),),
    )

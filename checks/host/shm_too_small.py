"""The shared memory of this machine is too small for several GPU processes.

## What it means
`/dev/shm` has less than the 1 GiB that NCCL's manual asks for; a container has 64 MiB unless it is told otherwise.
## What it does to a run
NCCL ends with `Error while creating shared memory segment` or `failed to extend /dev/shm/nccl-...`, vLLM's workers
and data loaders die with a bus error, each only once the memory is really used.
## What to do
Give the container more: `docker run --shm-size=16g` or `--ipc=host`; in Kubernetes mount an emptyDir of medium Memory
on /dev/shm; on a machine of your own remount it.
## How it is found
Size of the file system on /dev/shm, and the GPU processes that the command starts on this machine.
## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#shared-memory
https://docs.vllm.ai/en/stable/deployment/docker.html
https://github.com/sgl-project/sglang/issues/5096
"""

from __future__ import annotations

from doctor.checks.host._helpers import GIB, MIB, size
from doctor.checks.nccl._helpers import ranks_here, runs_elsewhere
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.gpus import Gpus
from doctor.facts.host import Host
from doctor.facts.launch import Launch
from doctor.facts.serving import Serving
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

PROBLEM = Problem(id="HST001", name="shm-too-small", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Error while creating shared memory segment /dev/shm/nccl-\w{1,20} \(size (?P<bytes>\d{1,15})"),
    Signature(r"DataLoader worker \(pid[^\n]{0,30}\) is killed by signal: Bus error"),
    Signature(
        r"unable to (?:write to file|resize file|allocate shared memory\(shm\) for file)"
        r" </?(?:torch|dev/shm)[^\n]{0,120}?No space left on device"
    ),
    Signature(r"Call to posix_fallocate failed: No space left on device"),
    Signature(
        r"Unexpected bus error encountered in worker\. This might be caused by insufficient shared"
        r" memory"
    ),
    Signature(
        r"OSError: \[Errno 28\] [^\n:']{2,60}$",
        frame=r"multiprocessing[\\/](?:synchronize|shared_memory|heap)\.py:",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the shared memory /dev/shm is too small or full",
        "Processes of one machine hand data to each other through /dev/shm: NCCL its buffers, "
        "data-loader workers their batches, vLLM its messages. A container has 64 MiB of it unless "
        "told otherwise.",
        "Enlarge it: `docker run --shm-size=16g` or `--ipc=host`; in Kubernetes mount an emptyDir "
        "with `medium: Memory` on /dev/shm; elsewhere `mount -o remount,size=16g /dev/shm`. For a "
        "data loader alone `num_workers=0` or fewer workers avoid it. Check with `df -h /dev/shm`.",
    ),
    zh=Words(
        "共享内存 /dev/shm 太小或已满",
        "同一机器上的进程通过 /dev/shm 交换数据:NCCL 的缓冲、数据加载进程的批次、vLLM 的消息。容器默认只有 64 MiB。",
        "扩大它:`docker run --shm-size=16g` 或 `--ipc=host`;Kubernetes 在 /dev/shm 挂载 `medium: "
        "Memory` 的 emptyDir;其他情况 `mount -o remount,size=16g /dev/shm`。若只是数据加载器,可用 "
        "`num_workers=0` 或更少的 worker 避免。用 `df -h /dev/shm` 检查。",
    ),
)
#: a bus error has other reasons: a mapped file that is cut short, a disk that fails
_BUS_ERROR = frozenset({1, 4})
WANTED_BYTES = GIB  # "--shm-size=1g" in NCCL's manual
DOCKERS_DEFAULT_BYTES = 64 * MIB

MESSAGE = Message(
    en=Words(
        "The shared memory /dev/shm has {size} for {ranks} GPU processes",
        "NCCL and vLLM exchange data between the processes of one machine through it and want 1 GiB or more. When it "
        "is used up, NCCL cannot create its segment, or a process dies with a bus error.",
        "Enlarge it: with `--shm-size` or `--ipc=host` for a container, with an emptyDir of medium Memory on /dev/shm "
        "in Kubernetes, by a remount elsewhere.",
    ),
    zh=Words(
        "{ranks} 个 GPU 进程共用的 /dev/shm 只有 {size}",
        "NCCL 与 vLLM 通过它在同一机器的进程之间交换数据,需要 1 GiB 以上。用尽时,NCCL 无法创建共享内存段,"
        "或进程因总线错误退出。",
        "扩大它:容器用 `--shm-size` 或 `--ipc=host`,Kubernetes 在 /dev/shm 挂载 medium 为 Memory 的 emptyDir,"
        "其他情况重新挂载。",
    ),
)
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
        evidence=(Evidence("statvfs", f"{host.shm_total_bytes} bytes in /dev/shm"),),
    )


def explain(hits: Hits) -> Finding:
    """Of a bus error torch itself only guesses the reason."""
    guessed = all(hit.signature in _BUS_ERROR for hit in hits)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY if guessed else CONFIRMED
    )

"""Other processes hold memory of a GPU that the command will use.

## What it means
Before the launch, processes hold a part of the memory of a visible GPU: another job, a notebook, a server that was
forgotten, or workers left over from a run that died.
## What it does to a run
The run has less memory than the card: vLLM refuses to start when the free memory is below `gpu_memory_utilization`,
and training runs out of memory at a batch size that fitted yesterday.
## What to do
End the process, choose other GPUs with `CUDA_VISIBLE_DEVICES`, or lower the memory that is asked for.
## How it is found
NVML's list of compute processes for the GPUs that the command can see; what the driver itself reserves does not
count.
## References
https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html
https://github.com/vllm-project/vllm/issues/20305
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Skip, Where, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.gpus import Gpu, GpuProcess, Gpus
from doctor.facts.launch import Launch
from doctor.facts.world import World

PROBLEM = Problem(id="GPU005", name="gpu-memory-held", severity=WARNING, since="0.1")

#: a display server or an idle CUDA context holds some hundred MiB; less than this share of a card matters to nobody
SHARE = 0.05

MESSAGE = Message(
    en=Words(
        "{gpu}: {used_gib} of {total_gib} GiB are held by other processes",
        "The run has that much less memory: vLLM may refuse to start and training may run out of memory.",
        "End the processes that are not needed, or choose other GPUs.",
    ),
    zh=Words(
        "{gpu}:{total_gib} GiB 显存中有 {used_gib} GiB 被其他进程占用",
        "本次训练可用的显存相应减少:vLLM 可能拒绝启动,训练可能显存不足。",
        "结束不需要的进程,或改用其他 GPU。",
    ),
)


@check(PROBLEM)
def memory_held(gpus: Gpus, launch: Launch, world: World | None) -> Judgement:
    """Only the cards that the command can see matter."""
    if not (launch.trains or launch.serves):
        return
    visible = world.visible_gpus if world else None
    for gpu in gpus.gpus:
        if gpu.error or (visible is not None and gpu.index not in visible):
            continue
        if gpu.memory_used_bytes is None or not gpu.memory_total_bytes:
            yield Skip(f"{gpu.label} does not report its memory")
        elif gpu.memory_used_bytes > SHARE * gpu.memory_total_bytes and gpu.processes:
            yield found(
                PROBLEM,
                MESSAGE,
                gpu=gpu.label,
                used_gib=f"{gpu.memory_used_bytes / 2**30:.1f}",
                total_gib=f"{gpu.memory_total_bytes / 2**30:.0f}",
                where=Where(gpu=gpu.index),
                commands=(f"nvidia-smi --query-compute-apps=pid,used_memory,name --format=csv -i {gpu.index}",),
                evidence=tuple(Evidence("NVML", told(each)) for each in _largest(gpu)),
            )


def _largest(gpu: Gpu) -> list[GpuProcess]:
    return sorted(gpu.processes or (), key=lambda each: -(each.used_bytes or 0))[:3]


def told(process: GpuProcess) -> str:
    """One line about a process, as far as it may be seen."""
    size = f"{process.used_bytes / 2**30:.1f} GiB" if process.used_bytes is not None else "unknown size"
    return f"pid {process.pid} {process.name or 'of another container or user'}: {size}"

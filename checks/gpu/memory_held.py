"""Judges gpu-memory-held (GPU005), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, Where, found
from doctor.catalogue.words import words_of
from doctor.facts.gpus import Gpu, GpuProcess, Gpus
from doctor.facts.launch import Launch
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: a display server or an idle CUDA context holds some hundred MiB; less than this share of a card matters to nobody
SHARE = 0.05


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
                evidence=tuple(Observed.quoted("NVML", told(each)) for each in _largest(gpu)),
            )


def _largest(gpu: Gpu) -> list[GpuProcess]:
    return sorted(gpu.processes or (), key=lambda each: -(each.used_bytes or 0))[:3]


def told(process: GpuProcess) -> str:
    """One line about a process, as far as it may be seen."""
    size = f"{process.used_bytes / 2**30:.1f} GiB" if process.used_bytes is not None else "unknown size"
    return f"pid {process.pid} {process.name or 'of another container or user'}: {size}"

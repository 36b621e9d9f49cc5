"""GPU memory rows wait for remapping or could not be remapped.

## What it means
Cards from Ampere on replace faulty memory rows by spare ones at the next reset. A pending remap means that a faulty
row is still in use; a failed one means that the spare rows of its bank are used up.
## What it does to a run
Until the reset the faulty row can raise Xid 63, 64 or 94 and end the process that touches it. After a failed remap
NVIDIA asks for the card to be examined for replacement.
## What to do
Reset the GPU when it is idle, or reboot. After a failed remap run the field diagnostics and have the card replaced.
## How it is found
NVML, remapped rows: pending and failure flags, and the count of rows remapped for uncorrectable errors.
## References
https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Where, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.facts.gpus import Gpu, Gpus

PROBLEM = Problem(id="GPU003", name="gpu-row-remap", severity=WARNING, since="0.1")

PENDING = Message(
    en=Words(
        "{gpu} has memory rows that wait for a reset to be remapped",
        "Until the reset the faulty rows stay in use, and the process that touches one can die with an Xid.",
        "Reset the GPU when it is idle, or reboot the node.",
    ),
    zh=Words(
        "{gpu} 有显存行等待重置后才能重映射",
        "重置之前仍会使用有故障的显存行,访问到它的进程可能因 Xid 退出。",
        "在该 GPU 空闲时将其重置,或重启节点。",
    ),
)

FAILED = Message(
    en=Words(
        "{gpu} could not remap a faulty memory row",
        "The spare rows of a bank are used up, so the error can come back at any time and end the run.",
        "Take the card out of the run, run NVIDIA's field diagnostics and have it replaced.",
    ),
    zh=Words(
        "{gpu} 无法重映射有故障的显存行",
        "某个 bank 的备用行已经用尽,错误随时可能再次出现并中断训练。",
        "不要再用这块卡训练,请运行 NVIDIA 现场诊断工具并更换显卡。",
    ),
)


@check(PROBLEM)
def row_remap(gpus: Gpus) -> Judgement:
    """Cards before Ampere do not remap rows and report nothing: nothing to skip there."""
    for gpu in gpus.gpus:
        if gpu.row_remap_failure:
            yield found(
                PROBLEM, FAILED, gpu=gpu.label, severity=ERROR, where=Where(gpu=gpu.index), evidence=_proof(gpu)
            )
        elif gpu.row_remap_pending:
            yield found(
                PROBLEM,
                PENDING,
                gpu=gpu.label,
                where=Where(gpu=gpu.index),
                commands=(f"sudo nvidia-smi --gpu-reset -i {gpu.index}",),
                evidence=_proof(gpu),
            )


def _proof(gpu: Gpu) -> tuple[Evidence, ...]:
    text = f"remapped rows: pending {gpu.row_remap_pending}, failure {gpu.row_remap_failure}"
    return (Evidence("NVML", f"{text}, for uncorrectable errors {gpu.rows_remapped_uncorrectable}"),)

"""GPU memory has uncorrected ECC errors.

## What it means
The card found memory errors that it could not repair since the driver was loaded.
## What it does to a run
The process that touches the bad page dies with Xid 48 or 94, and every other rank waits for it.
## What to do
Drain the node and reset the GPU when it is idle (`nvidia-smi --gpu-reset -i N`). If the count returns, have the
card replaced.
## How it is found
NVML, volatile uncorrected count over all memory locations, per GPU; in the figures of `doctor monitor`, where
the count rose during the run.
In a log: by the message that the program or the driver prints.
## References
https://docs.nvidia.com/deploy/xid-errors/
"""

from __future__ import annotations

from doctor.checks.gpu._sampled import FEW, alone, together
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Skip, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature
from doctor.facts.gpus import Gpus
from doctor.facts.sampled import NO_GPU, Sampled, SampledGpu

PROBLEM = Problem(id="GPU004", name="gpu-uncorrected-ecc", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"NVRM: Xid \((?P<pci>[^)\n]{1,60})\): (?P<code>48|94|95|140),"),
    Signature(r"CUDA error: uncorrectable ECC error encountered|cudaErrorECCUncorrectable"),
)

LOG_MESSAGE = Message(
    en=Words(
        "GPU memory has an uncorrectable ECC error",
        "The card found a memory error that it could not repair (Xid 48, 94 or 95). The process that "
        "touched it dies; after 94 only that one, after 95 everything on the card. The program is not at "
        "fault.",
        "Reset the GPU when it is idle (`nvidia-smi --gpu-reset -i N`) or reboot, so that the bad rows "
        "are remapped; check `nvidia-smi -q -d ECC,ROW_REMAPPER`. If it comes back, or remapping failed, "
        "have the card replaced; resume the run from the last checkpoint on other GPUs.",
    ),
    zh=Words(
        "GPU 显存出现无法纠正的 ECC 错误",
        "显卡发现了无法修复的存储错误(Xid 48、94 或 95)。访问它的进程会退出;94 只影响该进程,95 影响卡上所"
        "有进程。与程序无关。",
        "在空闲时重置 GPU(`nvidia-smi --gpu-reset -i N`)或重启,使坏行被重映射;检查 `nvidia-smi -q -d "
        "ECC,ROW_REMAPPER`。若再次出现或重映射失败,请更换显卡;在其他 GPU 上从最近的检查点继续。",
    ),
)

MESSAGE = Message(
    en=Words(
        "{gpu} has {count} uncorrected ECC errors since the driver was loaded",
        "The process that touches the bad memory dies with Xid 48 or 94 and every other rank waits for it.",
        "Drain the node, then reset the GPU. If the count returns, have the card replaced.",
    ),
    zh=Words(
        "{gpu} 自驱动加载以来有 {count} 个无法纠正的 ECC 错误",
        "访问到坏显存的进程会以 Xid 48 或 94 退出,其余 rank 则一直等待。",
        "先排空该节点,再重置该 GPU;如果计数再次出现,请更换显卡。",
    ),
)


DURING = Message(
    en=Words(
        "GPU {gpu} had {count} new uncorrected memory errors during the run",
        "The process that touches the bad memory dies with Xid 48 or 94, and every other rank waits for it.",
        "Drain the node, then reset the GPU. If the count returns, have the card replaced.",
    ),
    zh=Words(
        "GPU {gpu} 在运行期间新增 {count} 个无法纠正的显存错误",
        "访问到坏显存的进程会以 Xid 48 或 94 退出,其余 rank 一直等待。",
        "先排空该节点,再重置该 GPU;如果计数再次出现,请更换显卡。",
    ),
)
DURING_MANY = Message(
    en=Words(
        "{count} of {all} GPUs had new uncorrected memory errors during the run, {errors} in all",
        "The process that touches bad memory dies with Xid 48 or 94, and every other rank waits for it.",
        "Drain these nodes, then reset their GPUs. Where the count returns, have the card replaced.",
    ),
    zh=Words(
        "{all} 块 GPU 中有 {count} 块在运行期间新增无法纠正的显存错误,共 {errors} 个",
        "访问到坏显存的进程会以 Xid 48 或 94 退出,其余 rank 一直等待。",
        "先排空这些节点,再重置其 GPU;计数再次出现的卡请更换。",
    ),
)


@check(PROBLEM)
def uncorrected_ecc(gpus: Gpus) -> Judgement:
    """One finding a card; cards that do not count are skipped, not passed."""
    for gpu in gpus.that_report("ecc_uncorrected"):
        if gpu.ecc_uncorrected:
            yield found(
                PROBLEM,
                MESSAGE,
                gpu=gpu.label,
                count=gpu.ecc_uncorrected,
                where=Where(gpu=gpu.index),
                commands=(f"nvidia-smi --gpu-reset -i {gpu.index}",),
                evidence=(Evidence("NVML", f"volatile uncorrected ECC count: {gpu.ecc_uncorrected}"),),
            )
    if silent := gpus.silent_about("ecc_uncorrected"):
        yield Skip(f"no ECC count from GPU {', '.join(map(str, silent))}")


@check(PROBLEM)
def uncorrected_during_the_run(sampled: Sampled) -> Judgement:
    """Cards whose count rose between the first and the last look, those with most new errors first."""
    told = [gpu for gpu in sampled.gpus if gpu.ecc_before is not None and gpu.ecc_after is not None]
    grown = sorted((gpu for gpu in told if _new(gpu) > 0), key=lambda gpu: -_new(gpu))
    if len(grown) > FEW:
        errors = f"{sum(map(_new, grown)):.0f}"
        yield found(
            PROBLEM, DURING_MANY, count=len(grown), all=len(sampled.gpus), errors=errors,
            **together([(gpu, _rose(gpu)) for gpu in grown], "NVML"),
        )  # fmt: skip
        return
    for gpu in grown:
        yield found(PROBLEM, DURING, gpu=gpu.label, count=f"{_new(gpu):.0f}", **alone(gpu, "NVML", _rose(gpu)))
    if not told:
        yield Skip("no GPU told its ECC count" if sampled.gpus else NO_GPU)


def _new(gpu: SampledGpu) -> float:
    return (gpu.ecc_after or 0.0) - (gpu.ecc_before or 0.0)


def _rose(gpu: SampledGpu) -> str:
    return f"count rose from {gpu.ecc_before or 0:.0f} to {gpu.ecc_after or 0:.0f}"

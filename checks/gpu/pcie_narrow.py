"""A GPU is linked to the machine by fewer PCIe lanes than it has.

## What it means
The link has come up with less than the greatest width of card and slot: a bad riser, a slot that shares lanes, or a
card that is not seated well. An idle card lowers its link generation, never its width.
## What it does to a run
Copies between host and card are slower by that factor: offloading, data loading, and collectives that do not go
over NVLink.
## What to do
Reseat the card, try another slot, look at the slot's lanes in the manual of the board.
## How it is found
NVML, current against greatest PCIe link width; in the figures of `doctor monitor`, the most lanes that the link had
during the run.
## References
https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html
"""

from __future__ import annotations

from doctor.checks.gpu._sampled import FEW, alone, together
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Skip, Where, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.gpus import Gpus
from doctor.facts.sampled import NO_GPU, Sampled, SampledGpu

PROBLEM = Problem(id="GPU008", name="gpu-pcie-narrow", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "{gpu} is linked by {width} of {width_max} PCIe lanes",
        "Offloading, data loading and collectives without NVLink run at {width}/{width_max} of the speed.",
        "Reseat the card or try another slot, and look up how the board shares its lanes.",
    ),
    zh=Words(
        "{gpu} 只用了 {width_max} 条 PCIe 通道中的 {width} 条",
        "卸载、数据加载以及不经 NVLink 的集合通信只有 {width}/{width_max} 的速度。",
        "重新插好显卡或换一个插槽,并查阅主板说明中的通道分配。",
    ),
)


DURING = Message(
    en=Words(
        "the PCIe link of GPU {gpu} ran with {width} of {most} lanes",
        "Copies between host and card take longer in the same measure.",
        "Reseat the card or its riser, and look at the slot's setting in the BIOS.",
    ),
    zh=Words(
        "GPU {gpu} 的 PCIe 链路只用了 {most} 条通道中的 {width} 条",
        "主机与显卡之间的拷贝相应变慢。",
        "重新插好显卡或转接卡,并检查 BIOS 中该插槽的设置。",
    ),
)
DURING_MANY = Message(
    en=Words(
        "the PCIe links of {count} of {all} GPUs ran with fewer lanes than they have",
        "Copies between host and card take longer in the same measure. So many at once are seldom loose cards: the "
        "boards share lanes, or a setting in the BIOS splits the slots.",
        "Look up how the board shares its lanes, and the slots' settings in the BIOS.",
    ),
    zh=Words(
        "{all} 块 GPU 中有 {count} 块的 PCIe 链路通道数少于应有值",
        "主机与显卡之间的拷贝相应变慢。这么多卡同时如此,多半不是接触不良,而是主板共享通道或 BIOS 拆分了插槽。",
        "查阅主板的通道分配,并检查 BIOS 中的插槽设置。",
    ),
)


@check(PROBLEM)
def pcie_narrow(gpus: Gpus) -> Judgement:
    """A width that is not reported (virtual machines) says nothing."""
    for gpu in gpus.gpus:
        if gpu.pcie_width and gpu.pcie_width_max and gpu.pcie_width < gpu.pcie_width_max:
            yield found(
                PROBLEM,
                MESSAGE,
                gpu=gpu.label,
                width=gpu.pcie_width,
                width_max=gpu.pcie_width_max,
                where=Where(gpu=gpu.index),
                commands=(f"nvidia-smi -q -i {gpu.index} | grep -A 12 'GPU Link Info'",),
                evidence=(Evidence("NVML", f"PCIe link width {gpu.pcie_width}, greatest {gpu.pcie_width_max}"),),
            )


@check(PROBLEM)
def narrow_during_the_run(sampled: Sampled) -> Judgement:
    """Cards whose link never had all its lanes. A width that is not reported (virtual machines) says nothing."""
    narrow = sorted((gpu for gpu in sampled.gpus if _narrow(gpu)), key=lambda gpu: gpu.pcie_width or 0)
    if len(narrow) > FEW:
        yield found(
            PROBLEM, DURING_MANY, count=len(narrow), all=len(sampled.gpus),
            **together([(gpu, _width(gpu)) for gpu in narrow], "NVML"),
        )  # fmt: skip
        return
    for gpu in narrow:
        yield found(
            PROBLEM, DURING, gpu=gpu.label, width=f"{gpu.pcie_width:.0f}", most=f"{gpu.pcie_width_max:.0f}",
            **alone(gpu, "NVML", _width(gpu)),
        )  # fmt: skip
    if not sampled.gpus:
        yield Skip(NO_GPU)


def _narrow(gpu: SampledGpu) -> bool:
    return bool(gpu.pcie_width and gpu.pcie_width_max and gpu.pcie_width < gpu.pcie_width_max)


def _width(gpu: SampledGpu) -> str:
    return f"link width {gpu.pcie_width or 0:.0f} of {gpu.pcie_width_max or 0:.0f} throughout"

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
NVML, current against greatest PCIe link width.
## References
https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Where, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.gpus import Gpus

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

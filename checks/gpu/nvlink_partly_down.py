"""Some NVLinks of a GPU are down.

## What it means
The card has NVLinks that are active and others that are not.
## What it does to a run
Collectives run over fewer links, or fall back to PCIe for some pairs, and slow every rank.
## What to do
Look at `nvidia-smi nvlink -s` and at the fabric manager's log; reset the GPUs together or reboot.
## How it is found
NVML, NVLink state per link. Cards whose links are all inactive (no bridge fitted) are left alone.
## References
https://docs.nvidia.com/deploy/nvml-api/group__NvLink.html
https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
"""

from __future__ import annotations

from collections import Counter

from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Where, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.gpus import Gpus

PROBLEM = Problem(id="GPU014", name="gpu-nvlink-partly-down", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "{gpu} has {active} active NVLinks where its siblings have {usual}",
        "Collectives run over fewer links or over PCIe, and every rank waits for the slowest pair.",
        "Look at the link states and at the log of the fabric manager, then reset the GPUs together.",
    ),
    zh=Words(
        "{gpu} 只有 {active} 条 NVLink 处于活动状态,同型号的其他卡有 {usual} 条",
        "集合通信只能使用更少的链路,或改走 PCIe,所有 rank 都要等待最慢的一对。",
        "请查看链路状态与 fabric manager 的日志,然后一起重置这些 GPU。",
    ),
)


@check(PROBLEM)
def nvlink_partly_down(gpus: Gpus) -> Judgement:
    """A card is compared with the others of its model: how many links a board wires up differs."""
    for name in {gpu.name for gpu in gpus.that_report("nvlinks_active")}:
        same = [gpu for gpu in gpus.that_report("nvlinks_active") if gpu.name == name]
        counts = Counter(gpu.nvlinks_active or 0 for gpu in same)
        usual = max(counts, key=lambda count: (counts[count], count))
        for gpu in same:
            if (gpu.nvlinks_active or 0) < usual and len(same) > 2:
                yield found(
                    PROBLEM,
                    MESSAGE,
                    gpu=gpu.label,
                    active=gpu.nvlinks_active,
                    usual=usual,
                    where=Where(gpu=gpu.index),
                    commands=(f"nvidia-smi nvlink -s -i {gpu.index}",),
                    evidence=(Evidence("NVML", f"{gpu.nvlinks_active} of {usual} NVLinks active"),),
                    confidence=LIKELY,
                )

"""NCCL 2.26.2 fails on several RTX 5090 or RTX PRO 6000 Blackwell cards.

## What it means
The NCCL that the wheels of torch 2.7 bring has a defect on these cards.
## What it does to a run
A collective above about half a megabyte ends with `CUDA error: an illegal memory access was encountered` (`Cuda failure
700` in NCCL's log). One card alone works.
## What to do
Install a newer NCCL beside torch; torch loads the wheel's library and 2.27 and newer have the same interface.
## How it is found
Version of the wheel `nvidia-nccl-cu12`, names of the visible GPUs, number of ranks.
## References
https://github.com/NVIDIA/nccl/issues/2418
https://github.com/vllm-project/vllm/issues/19890
https://github.com/pytorch/pytorch/issues/152780
"""

from __future__ import annotations

from doctor.checks.nccl._helpers import ranks_here
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

PROBLEM = Problem(
    id="NCC008",
    name="nccl-broken-on-blackwell-workstation",
    severity=ERROR,
    since="0.1",
    affects={"nvidia-nccl-cu12": "==2.26.2"},
)

SIGNATURES = (
    Signature(r"unhandled cuda error[^\n]{0,80}, NCCL version (?P<nccl>2\.26\.2)\b"),
    Signature(r"Cuda failure (?:700 )?'an illegal memory access was encountered'", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "NCCL {nccl} failed with an illegal memory access",
        "NCCL 2.26.2, which the torch 2.7 wheels bring, has a defect on Blackwell workstation and "
        "consumer GPUs (RTX 5090, RTX PRO 6000): collectives over several GPUs end so, while one GPU "
        "works. On other GPUs look for an earlier illegal access in a kernel of your own "
        "(`CUDA_LAUNCH_BLOCKING=1`).",
        "Upgrade the NCCL wheel below torch to 2.27 or newer: `pip install -U nvidia-nccl-cu12`, or "
        "move to torch 2.8 or newer.",
    ),
    zh=Words(
        "NCCL {nccl} 因非法内存访问失败",
        "torch 2.7 安装包自带的 NCCL 2.26.2 在 Blackwell 工作站与消费级 GPU(RTX 5090、RTX PRO 6000)上"
        "有缺陷:多卡集合通信会如此失败,而单卡正常。若是其他 GPU,请用 `CUDA_LAUNCH_BLOCKING=1` 查找更"
        "早的非法访问。",
        "把 torch 之下的 NCCL 升级到 2.27 或更新:`pip install -U nvidia-nccl-cu12`,或使用 torch 2.8 及以上。",
    ),
)
CARDS = ("RTX 5090", "RTX PRO 6000 Blackwell")

MESSAGE = Message(
    en=Words(
        "NCCL {version} on {count} x {name}",
        "Collectives of more than about half a megabyte end with `an illegal memory access was encountered` on these "
        "cards. It is a defect of this NCCL, which the wheels of torch 2.7 bring; a single card works.",
        "Install a newer NCCL; torch loads it in place of its own.",
    ),
    zh=Words(
        "{count} 张 {name} 使用 NCCL {version}",
        "在这些卡上,超过约半兆字节的集合通信会以 `an illegal memory access was encountered` 失败。"
        "这是 torch 2.7 的 wheel 自带的这一版 NCCL 的缺陷;单卡正常。",
        "安装更新的 NCCL,torch 会加载它。",
    ),
)


@check(PROBLEM)
def broken_on_blackwell_workstation(
    gpus: Gpus,
    packages: Packages,
    world: World | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
) -> Judgement:
    """Judge several ranks on the cards that were reported."""
    visible = world.visible_gpus if world is not None and world.visible_gpus is not None else None
    cards = [
        gpu.name
        for gpu in gpus.gpus
        if gpu.name and any(card in gpu.name for card in CARDS) and (visible is None or gpu.index in visible)
    ]
    if len(cards) < 2 or ranks_here(world, serving, verl_config, trinity_config) < 2:
        return
    version = packages.version("nvidia-nccl-cu12")
    yield found(
        PROBLEM,
        MESSAGE,
        version=version,
        count=len(cards),
        name=cards[0],
        confidence=LIKELY,
        commands=('pip install -U "nvidia-nccl-cu12>=2.27"',),
        evidence=(Evidence("installed packages", f"nvidia-nccl-cu12 {version}"), Evidence("NVML", cards[0])),
    )


def explain(hits: Hits) -> Finding | None:
    """Only with the illegal access beside it: the version alone proves nothing."""
    if not hits.of(0) or not hits.of(1):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, nccl=hits.get("nccl")
    )

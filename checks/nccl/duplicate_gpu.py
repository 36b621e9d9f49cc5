"""Two ranks of a group use the same GPU.

## What it means
NCCL wants one GPU per rank, and two ranks chose the same: LOCAL_RANK was not read, or the trainer and vLLM were
given the same card.
## What it does to a run
The communicator is refused.
## What to do
Give each process its own GPU.
## How it is found
NCCL's message: up to 2.29 with both ranks and the card's bus id, from 2.30 on without them. From 2.30 on
`NCCL_MULTI_RANK_GPU_ENABLE=1` lets ranks share a card, which then take turns on it.
## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
https://github.com/NVIDIA/nccl/blob/master/src/init.cc
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="NCC012", name="nccl-duplicate-gpu", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Duplicate GPU detected ?: rank (?P<one>\d{1,6}) and rank (?P<two>\d{1,6}) both on CUDA"
        r" device (?P<device>\w{1,20})"
    ),
    Signature(r"Multiple Ranks are using the same GPU/Partition"),
)

_WHY_EN = (
    "NCCL needs a GPU of its own for each rank. Either the script never calls `torch.cuda.set_device(LOCAL_RANK)`, or "
    "more ranks than GPUs were started, or the vLLM server and the trainer share a card (weight transfer cannot go "
    "from a GPU to itself)."
)
_WHY_ZH = (
    "NCCL 要求每个 rank 独占一张 GPU。可能是脚本没有调用 `torch.cuda.set_device(LOCAL_RANK)`,启动的 rank 多于 GPU,或 "
    "vLLM 服务器与训练器共用一张卡(权重无法从一张 GPU 传给自己)。"
)
_DO_EN = (
    'Call `torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))` before the group is made, start no more processes '
    'than GPUs, and give server and trainer separate cards with `CUDA_VISIBLE_DEVICES` (or use `vllm_mode="colocate"`).'
)
_DO_ZH = (
    '在建立进程组之前调用 `torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))`,进程数不超过 GPU 数,并用 '
    '`CUDA_VISIBLE_DEVICES` 把服务器与训练器分到不同的卡(或用 `vllm_mode="colocate"`)。'
)

LOG_MESSAGE = Message(
    en=Words("ranks {one} and {two} use the same GPU (bus id {device})", _WHY_EN, _DO_EN),
    zh=Words("rank {one} 与 rank {two} 使用同一张 GPU(总线号 {device})", _WHY_ZH, _DO_ZH),
)
_SHARED = Message(
    en=Words(
        "two ranks of one group use the same GPU",
        _WHY_EN,
        f"{_DO_EN} `NCCL_MULTI_RANK_GPU_ENABLE=1`, which the message offers, makes the ranks take turns on the card "
        "and share its memory: for tests only.",
    ),
    zh=Words(
        "同一进程组中有两个 rank 使用同一张 GPU",
        _WHY_ZH,
        f"{_DO_ZH}报错中提到的 `NCCL_MULTI_RANK_GPU_ENABLE=1` 会让这些 rank 轮流使用该卡并共享显存,只适合测试。",
    ),
)


def explain(hits: Hits) -> Finding:
    """NCCL names the ranks up to 2.29 only."""
    if not hits.of(0):
        return found(PROBLEM, _SHARED, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        one=hits.get("one"), two=hits.get("two"), device=hits.get("device"),
    )  # fmt: skip

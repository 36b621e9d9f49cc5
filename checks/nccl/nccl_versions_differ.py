"""The ranks of a group load different NCCL versions.

## What it means
Environments of the nodes differ, or LD_LIBRARY_PATH puts another NCCL in front on some of them.
## What it does to a run
The communicator is refused or hangs.
## What to do
Install the same torch and NCCL everywhere.
## How it is found
In logs by NCCL's own check of versions; over several nodes by the version of the wheel that torch loads on each.
## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
"""

from __future__ import annotations

from doctor.cluster.compare import compare
from doctor.cluster.departures import told_apart
from doctor.cluster.readings import named
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature
from doctor.facts.cluster import Cluster

PROBLEM = Problem(id="NCC016", name="nccl-versions-differ", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Mismatched NCCL version detected : rank (?P<one>\d{1,6}) version (?P<a>\d{1,8}) rank"
        r" (?P<two>\d{1,6}) version (?P<b>\d{1,8})"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "rank {one} runs NCCL {a} and rank {two} NCCL {b}",
        "All ranks of a group must load the same NCCL. Trainer and server environments differ, or a "
        "system NCCL in `LD_LIBRARY_PATH` stands before torch's own on some node.",
        "Install the same torch and `nvidia-nccl-cu12` (CUDA 13: `-cu13`) in every environment, "
        "take other NCCLs out of "
        "`LD_LIBRARY_PATH` and unset `LD_PRELOAD` and `VLLM_NCCL_SO_PATH`. Check with `python -c "
        "'import torch; print(torch.cuda.nccl.version())'`.",
    ),
    zh=Words(
        "rank {one} 使用 NCCL {a},rank {two} 使用 NCCL {b}",
        "同一组的所有 rank 必须加载相同的 NCCL。训练与服务环境不同,或某节点的 `LD_LIBRARY_PATH` 让系"
        "统 NCCL 排在 torch 自带的之前。",
        "在每个环境安装相同的 torch 与 `nvidia-nccl-cu12`(CUDA 13 为 `-cu13`),从 `LD_LIBRARY_PATH` "
        "去掉其他 NCCL,并取消 "
        "`LD_PRELOAD` 与 `VLLM_NCCL_SO_PATH`。用 `python -c 'import torch; "
        "print(torch.cuda.nccl.version())'` 检查。",
    ),
)

_DO_EN = "Install the same torch and the same `nvidia-nccl-cu12` (CUDA 13: `-cu13`) on all nodes."
_DO_ZH = "在所有节点安装相同的 torch 与 `nvidia-nccl-cu12`(CUDA 13 为 `-cu13`)。"
_WHY_EN = "All ranks of a group must load the same NCCL: the communicator is refused, or hangs at its start."
_WHY_ZH = "同一组的所有 rank 必须加载相同的 NCCL:否则通信组被拒绝,或一开始就挂住。"
ODD = Message(
    en=Words("NCCL of {hosts} is not that of {others} other nodes: {told}", _WHY_EN, _DO_EN),
    zh=Words("{hosts} 的 NCCL 与其余 {others} 个节点不同:{told_zh}", _WHY_ZH, _DO_ZH),
)
SPLIT = Message(
    en=Words("`{name}` differs between {seen} nodes, none has a majority: {told}", _WHY_EN, _DO_EN),
    zh=Words("`{name_zh}` 在 {seen} 个节点间不一致,没有占多数的取值:{told_zh}", _WHY_ZH, _DO_ZH),
)


@check(PROBLEM)
def nccl_of_nodes(cluster: Cluster) -> Judgement:
    """Likely: LD_LIBRARY_PATH or VLLM_NCCL_SO_PATH may put another NCCL in front of the wheel's."""
    yield from told_apart(PROBLEM, ODD, SPLIT, compare(cluster, named("NCCL")), confidence=LIKELY)

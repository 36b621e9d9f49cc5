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
https://github.com/vllm-project/vllm/issues/1726
https://github.com/NVIDIA/nccl/issues/1167
"""

from __future__ import annotations

from typing import Any

from doctor.cluster.compare import compare
from doctor.cluster.departures import told_apart
from doctor.cluster.readings import named
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.cluster import Cluster

PROBLEM = Problem(id="NCC016", name="nccl-versions-differ", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Mismatched NCCL version detected : rank (?P<one>\d{1,6}) version (?P<a>\d{1,8}) rank"
        r" (?P<two>\d{1,6}) version (?P<b>\d{1,8})"
    ),
    Signature(r"[Ii]nvalid config (?P<field>\w{1,40}) attribute value (?P<value>-2147483648)\b"),
)

#: what newer callers leave unset is the smallest int; an older library takes it for a value
OLDER = Message(
    en=Words(
        "an older NCCL was loaded than torch was built for: it refuses `{field}`",
        "torch leaves settings it does not use as undefined ({value}), which NCCL knows from 2.17 on; the loaded "
        "library takes it for a value. Two NCCLs are installed (`nvidia-nccl-cu11` beside `nvidia-nccl-cu12`, which "
        "share one folder), or one of the system stands first in LD_LIBRARY_PATH or LD_PRELOAD.",
        "`pip list | grep -i nccl`: uninstall both wheels and install torch's own again (`pip uninstall -y "
        "nvidia-nccl-cu11 nvidia-nccl-cu12`, `pip install --force-reinstall torch==VERSION`). `unset LD_PRELOAD` "
        "and take other libnccl out of LD_LIBRARY_PATH; `NCCL_DEBUG=VERSION` prints what is loaded.",
    ),
    zh=Words(
        "加载的 NCCL 比 torch 构建所用的旧:它拒绝通信域的设置(`{field}`)",
        "torch 将不用的设置保持未定义({value}),NCCL 自 2.17 起才认识;所加载的库把它当成了取值。可能装了两个 "
        "NCCL(`nvidia-nccl-cu11` 与 `nvidia-nccl-cu12` 共用同一目录),或系统的 NCCL 在 LD_LIBRARY_PATH、LD_PRELOAD "
        "中排在前面。",
        "`pip list | grep -i nccl`:卸载两个 wheel 并重装 torch 自带的(`pip uninstall -y nvidia-nccl-cu11 "
        "nvidia-nccl-cu12`,`pip install --force-reinstall torch==VERSION`)。`unset LD_PRELOAD`,并从 LD_LIBRARY_PATH "
        "去掉其他 libnccl;`NCCL_DEBUG=VERSION` 会打印所加载的版本。",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "rank {one} runs NCCL {a} and rank {two} NCCL {b}",
        "All ranks of a group must load the same NCCL. Trainer and server environments differ, or a "
        "system NCCL in `LD_LIBRARY_PATH` stands before torch's own on some node.",
        "Install the same torch and `nvidia-nccl-cu12` (CUDA 13: `-cu13`) in every environment, take other NCCLs out "
        "of `LD_LIBRARY_PATH` and unset `LD_PRELOAD` and `VLLM_NCCL_SO_PATH`. Check with `python -c 'import torch; "
        "print(torch.cuda.nccl.version())'`.",
    ),
    zh=Words(
        "rank {one} 使用 NCCL {a},rank {two} 使用 NCCL {b}",
        "同一组的所有 rank 必须加载相同的 NCCL。训练与服务环境不同,或某节点的 `LD_LIBRARY_PATH` 让系"
        "统 NCCL 排在 torch 自带的之前。",
        "在每个环境安装相同的 torch 与 `nvidia-nccl-cu12`(CUDA 13 为 `-cu13`),从 `LD_LIBRARY_PATH` 去掉其他 NCCL,并取消"
        " `LD_PRELOAD` 与 `VLLM_NCCL_SO_PATH`。用 `python -c 'import torch; print(torch.cuda.nccl.version())'` 检查。",
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


def explain(hits: Hits) -> Finding:
    """Two ranks with different libraries, or one whose library is older than its torch."""
    message = OLDER if hits.first.signature else LOG_MESSAGE
    values: dict[str, Any] = dict(hits.first.groups)
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), **values)


@check(PROBLEM)
def nccl_of_nodes(cluster: Cluster) -> Judgement:
    """Likely: LD_LIBRARY_PATH or VLLM_NCCL_SO_PATH may put another NCCL in front of the wheel's."""
    yield from told_apart(PROBLEM, ODD, SPLIT, compare(cluster, named("NCCL")), confidence=LIKELY)

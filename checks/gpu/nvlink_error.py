"""A link between GPUs reported an error that could not be corrected.

## What it means
NVLink lost or corrupted data between two cards (Xid 74): a bad link, bridge or baseboard, a card that was
reset alone, or a fabric manager of another version than the driver.
## What it does to a run
The context is lost and the run ends; it comes back on the same card.
## What to do
Look at the links, reset the cards together, and take the node out if it comes back.
## How it is found
In a log: by CUDA's error. That of an access over NVLink, or "a hardware error", may be the program's as well.
## References
https://docs.nvidia.com/deploy/xid-errors/index.html
https://github.com/MIC-DKFZ/nnUNet/issues/1519
https://github.com/marin-community/marin/issues/8934
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="GPU015", name="nvlink-uncorrectable", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"CUDA error: uncorrectable NVLink error|cudaErrorNvlinkUncorrectable|NVLink error "
        r"detected during the execution"
    ),
    # CUDA's own words leave open which of the two it is
    Signature(r"CUDA error: Invalid access of peer GPU memory over nvlink|cudaErrorContained|CUDA_ERROR_CONTAINED"),
)


LOG_MESSAGE = Message(
    en=Words(
        "CUDA reported an uncorrectable NVLink error: a fault of the hardware between two GPUs",
        "Data between two cards was lost. It is a fault of link, bridge, board or fabric manager,"
        " not of the code, and comes back.",
        "Look with `nvidia-smi nvlink -s`, `nvidia-smi nvlink -e` and `dmesg -T | grep -i xid` "
        "for the card; restart the fabric manager where there is one (`systemctl restart "
        "nvidia-fabricmanager`), reboot the node, and have the hardware checked if it happens "
        "again. `NCCL_P2P_DISABLE=1` avoids the link at the cost of speed.",
    ),
    zh=Words(
        "CUDA 报告无法纠正的 NVLink 错误:两张 GPU 之间的硬件故障",
        "两张卡之间的数据丢失。这是链路、桥接器、主板或 fabric manager 的故障,与代码无关,会再次出现。",
        "用 `nvidia-smi nvlink -s`、`nvidia-smi nvlink -e` 和 `dmesg -T | grep -i xid` "
        "找出是哪张卡;有 fabric manager 时重启它(`systemctl restart nvidia-fabricmanager`),"
        "重启节点;再次出现则检修硬件。`NCCL_P2P_DISABLE=1` 可绕开该链路,但会变慢。",
    ),
)

LOG_MESSAGE_PEER = Message(
    en=Words(
        "a GPU could not use the memory of another one over NVLink, or has a fault of its own",
        "CUDA does not tell which. The memory goes away when the process that owns it ends or frees it (a rank that "
        "was killed before, a communicator that was taken down), is not open to this GPU (NVLink over several nodes "
        "without IMEX, containers), or a kernel reaches past its buffers (dispatch of expert parallelism); else link "
        "or card fail.",
        "Look first for a rank that ended earlier. `nvidia-smi nvlink -e` and `dmesg -T | grep -iE 'xid|sxid'` on that "
        "node show a fault of the hardware: then drain the node, reset its GPUs together or reboot. Without an Xid "
        "upgrade NCCL and what does the dispatch, and find the path: `NCCL_NVLS_ENABLE=0`, `NCCL_P2P_DISABLE=1`, over "
        "several nodes `NCCL_MNNVL_ENABLE=0`.",
    ),
    zh=Words(
        "某张 GPU 无法经 NVLink 使用另一张 GPU 的显存,或自身有故障",
        "CUDA 没有说明是哪一种。拥有该显存的进程退出或释放(先前被杀死的 rank、被销毁的通信域),该显存对此 GPU 不可访问"
        "(多节点 NVLink 而没有 IMEX、容器),或内核越过缓冲区(专家并行的分发),都会如此;否则是链路或显卡故障。",
        "先查找更早退出的 rank。在该节点上用 `nvidia-smi nvlink -e` 和 `dmesg -T | grep -iE 'xid|sxid'` 可看出硬件故"
        "障:若有,排空节点,一起重置其 GPU 或重启。没有 Xid 时,升级 NCCL 和负责分发的库,并逐一排除路"
        "径:`NCCL_NVLS_ENABLE=0`、`NCCL_P2P_DISABLE=1`,多节点时 `NCCL_MNNVL_ENABLE=0`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """An error of the link itself is the hardware's; an access that fails may be the program's."""
    link = hits.of(0)
    return found(
        PROBLEM, LOG_MESSAGE if link else LOG_MESSAGE_PEER, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if link else LIKELY,
    )  # fmt: skip

"""A link between GPUs reported an error that could not be corrected.

## What it means
NVLink lost or corrupted data between two cards (Xid 74): a bad link, bridge or baseboard, a card that was
reset alone, or a fabric manager of another version than the driver.
## What it does to a run
The context is lost and the run ends; it comes back on the same card.
## What to do
Look at the links, reset the cards together, and take the node out if it comes back.
## How it is found
In a log: by CUDA's error.
## References
https://docs.nvidia.com/deploy/xid-errors/index.html
https://github.com/MIC-DKFZ/nnUNet/issues/1519
https://github.com/marin-community/marin/issues/8934
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="GPU015", name="nvlink-uncorrectable", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"CUDA error: uncorrectable NVLink error|cudaErrorNvlinkUncorrectable|NVLink error "
        r"detected during the execution|CUDA error: Invalid access of peer GPU memory over nvlink|cudaErrorContained"
        r"|CUDA_ERROR_CONTAINED"
    ),
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

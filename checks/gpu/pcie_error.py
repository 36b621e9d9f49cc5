"""The PCI Express bus reported an uncorrectable error of a device.

## What it means
Root port and device tell of packets that were lost or damaged beyond repair (AER). A GPU, a network card or a drive
at that address may be gone afterwards.
## What it does to a run
What runs on the device fails: a GPU falls off the bus (Xid 79), the network of NCCL breaks, a disk disappears.
## What to do
Find the device by its address; look at seat, riser, cable, power and firmware; take it out of use.
## How it is found
In a log: by the kernel's AER lines of the severities fatal and non-fatal. Corrected ones are left alone.
## References
https://docs.kernel.org/PCI/pcieaer-howto.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="GPU022", name="pcie-error", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"\bAER: (?:Multiple )?Uncorrect(?:ed|able) \((?:Fatal|Non-Fatal)\) error[^\n]{0,40}received|\bPCI"
        r"e Bus Error: severity=Uncorrect(?:ed|able) \((?:Fatal|Non-Fatal)\)|\bAER: (?:device recovery fai"
        r"led|can't recover)"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the PCI Express bus reported an uncorrectable error of a device",
        "Data between the device and the machine was lost or damaged beyond repair. Whatever sits at that "
        "address (GPU, network card, NVMe drive) may have failed or left the bus: for a GPU `Xid 79` follows, "
        "for a network card broken NCCL connections. Seat, riser cable, power, heat or the device itself are "
        "the usual causes.",
        "The line names the bus address: `lspci -s ADDRESS` tells the device, `lspci -vv -s ADDRESS` its link "
        "speed and width. Look for `Xid` beside it. Drain the node, power it off, reseat card, riser and power "
        "cables, update BIOS and firmware; a lower link speed in the BIOS (Gen4 instead of Gen5) shows whether "
        "the riser is at fault. Replace what keeps reporting, and resume elsewhere meanwhile.",
    ),
    zh=Words(
        "PCI Express 总线报告某设备发生无法纠正的错误",
        "设备与机器之间的数据丢失或损坏且无法恢复。该地址上的设备(GPU、网卡、NVMe 盘)可能已失效或掉出总线:GPU "
        "会随后报 `Xid 79`,网卡会使 NCCL 连接中断。常见原因是接触、转接线、供电、温度或设备本身。",
        "该行给出总线地址:`lspci -s ADDRESS` 显示设备,`lspci -vv -s ADDRESS` 显示链路速度与宽度。查看附近的 "
        "`Xid`。排空节点并断电,重新插好显卡、转接线与供电线,更新 BIOS 与固件;在 BIOS 降低链路速度(Gen5 改 Gen4)"
        "可判断是否转接线问题。更换持续报错的部件,期间在别处继续训练。",
    ),
)

LOG_CONFIDENCE = LIKELY

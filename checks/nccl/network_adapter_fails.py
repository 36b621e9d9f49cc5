"""The kernel reports a network adapter that fails.

## What it means
The driver of an InfiniBand or Ethernet adapter tells of a transceiver that is too hot or refused, a slot that gives
too little power, or firmware that no longer answers.
## What it does to a run
Links go down and come back; NCCL loses its peers or waits until its time-out.
## What to do
Look at cable, transceiver, cooling and power of that adapter; leave it out until then.
## How it is found
In a log: by the kernel's lines of the drivers mlx5, bnxt and others.
## References
https://github.com/leptonai/gpud/blob/main/components/accelerator/nvidia/infiniband/kmsg_matcher.go
https://docs.nvidia.com/networking/display/cx5vpisd/troubleshooting
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="NCC037", name="network-adapter-fails", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"\bPort module event\[error\]: module (?P<module>\d{1,3}), (?P<why>[^\n]{3,80})|(?P<slot>Detected"
            r" insufficient power) on the PCIe slot|mlx5_core [^\n]{1,80}(?P<health>device's health compromise"
            r"d|health recovery failed|firmware internal error|assert_exit_ptr|Fatal error)|bnxt_en [^\n]"
            r"{1,60}(?P<firmware>Firmware (?:fatal error|reset|unresponsive)|firmware not responding)"
        ),
        Message(
            en=Words(
                "the kernel reports a network adapter that fails: cable, module, heat, power or firmware",
                "The adapter (InfiniBand, RoCE or Ethernet) loses its link or slows down; NCCL connections "
                "over it break or wait until their time-out on this and on other nodes. The training program "
                "is not the cause.",
                "The line names the bus address (`lspci -s ADDRESS`, `ibdev2netdev`). Check cable and "
                "transceiver (`mlxlink -d DEVICE -m`, `ethtool -m IFACE`), airflow and temperature, the slot's "
                "power (cable of the riser), and the firmware (`mlxfwmanager`, `ibstat`). Until it is mended "
                "drain the node or leave the adapter out: `NCCL_IB_HCA=^mlx5_N`.",
            ),
            zh=Words(
                "内核报告网络适配器故障:光模块、线缆、温度、供电或固件",
                "该适配器(InfiniBand、RoCE 或以太网)会断链或降速;经过它的 NCCL 连接会在本节点和其他节点上中断或"
                "等到超时。与训练程序无关。",
                "该行给出总线地址(`lspci -s ADDRESS`、`ibdev2netdev`)。检查线缆与光模块(`mlxlink -d DEVICE -m`"
                "、`ethtool -m IFACE`)、风道与温度、插槽供电(转接卡电源线)以及固件(`mlxfwmanager`、`ibstat`)。"
                "修复前排空该节点,或避开该适配器:`NCCL_IB_HCA=^mlx5_N`。",
            ),
        ),
    ),
    (
        (
            r"nvidia[-_]peermem nv_get_p2p_free_callback:\d{1,6} ERROR detected invalid context|could not inse"
            r"rt '?\"?nvidia_peermem'?\"?: (?P<why>[^\n]{3,60})"
        ),
        Message(
            en=Words(
                "GPUDirect RDMA is disturbed: `nvidia_peermem`, which joins GPU memory to the network card",
                "`invalid context` means that GPU memory, which the network card still had registered, was "
                "taken away: the process that owned it ended or was killed, or its GPU had an error. Alone it "
                "is only the echo of that; coming back without such an end it points to the fabric or the "
                "driver. A module that cannot be loaded (`Invalid argument`) means that the network driver "
                "(MLNX_OFED or DOCA) without peer memory is installed.",
                "Look at the same time for what ended (`dmesg -T | grep -E 'Xid|killed'`, the ranks' own "
                "logs). Reload it when nothing runs: `sudo modprobe -r nvidia_peermem && sudo modprobe "
                "nvidia_peermem`. With newer drivers and kernels (open modules, 5.12 or newer) leave it out: "
                "NCCL uses dma-buf (`NCCL_DMABUF_ENABLE=1`). `NCCL_NET_GDR_LEVEL=LOC` goes on without "
                "GPUDirect.",
            ),
            zh=Words(
                "GPUDirect RDMA 受到干扰:连接 GPU 显存与网卡的 `nvidia_peermem`",
                "`invalid context` 表示网卡仍注册着的 GPU 显存被收回:拥有它的进程已结束或被杀死,或其 GPU 出错。"
                "单独出现只是回响;若没有这类结束却反复出现,则指向互联或驱动。模块无法加载(`Invalid argument`)表"
                "示网络驱动(MLNX_OFED 或 DOCA)没有 peer memory 支持。",
                "查看同一时刻是什么结束了(`dmesg -T | grep -E 'Xid|killed'`,各 rank 的日志)。没有任务运行时重新"
                "加载:`sudo modprobe -r nvidia_peermem && sudo modprobe nvidia_peermem`。较新的驱动与内核(open "
                "模块,5.12 及以上)可不用它:NCCL 使用 dma-buf(`NCCL_DMABUF_ENABLE=1`)。`NCCL_NET_GDR_LEVEL=LOC` "
                "可不用 GPUDirect 继续运行。",
            ),
        ),
    ),
)

#: without the second the run goes on, only slower
SIGNATURES = (Signature(CASES[0][0]), Signature(CASES[1][0], kind="warning"))


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)

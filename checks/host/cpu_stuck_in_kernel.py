"""A processor is stuck inside the kernel: lockup or stall.

## What it means
The kernel's watchdog found a processor that did nothing else for 20 seconds and more: a driver that loops or waits,
firmware, a host that takes the processor away from a virtual machine, or far too many runnable threads.
## What it does to a run
The threads on it stand still, network and GPU time-outs follow, and ranks are lost.
## What to do
Read which task and which module it is; update driver and kernel; reboot the node.
## How it is found
In a log: by the kernel's lines about soft and hard lockups and RCU stalls.
## References
https://github.com/leptonai/gpud/blob/main/components/cpu/kmsg_matcher.go
https://docs.kernel.org/admin-guide/lockup-watchdogs.html
https://docs.kernel.org/RCU/stallwarn.html
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="HST020", name="cpu-stuck-in-kernel", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"\bsoft lockup - CPU#(?P<cpu>\d{1,5}) stuck for (?P<seconds>\d{1,6})s! \[(?P<task>[^:\]\n]{1,60})"
            r":(?P<pid>\d{1,9})\]"
        ),
        Message(
            en=Words(
                "CPU {cpu} was stuck inside the kernel for {seconds} s, in `{task}` (soft lockup)",
                "A task that runs kernel code did not let the processor go. On GPU machines it is mostly the "
                "NVIDIA or network driver waiting for hardware, memory being torn down or compacted, or, in a "
                "virtual machine, a host that took the processor away. Threads of the run stand still "
                "meanwhile and its ranks run into time-outs.",
                "Read the call trace below the line: its function and module name who holds the CPU. Look for "
                "`NVRM: Xid`, PCIe and memory errors beside it (`dmesg -T`). Update the GPU driver, firmware "
                "and kernel; in a virtual machine ask the provider about CPU steal. Drain and reboot the node "
                "when it repeats, and resume from the last checkpoint elsewhere.",
            ),
            zh=Words(
                "CPU {cpu} 在内核中卡住 {seconds} 秒,任务为 `{task}`(soft lockup)",
                "一个执行内核代码的任务没有让出处理器。在 GPU 机器上多为 NVIDIA 或网卡驱动等待硬件、内存释放或"
                "整理,虚拟机中则可能是宿主机抢走了处理器。期间训练线程停滞,各 rank 会超时。",
                "查看该行下方的调用栈:函数与模块名说明谁占住了 CPU。查看附近的 `NVRM: Xid`、PCIe 与内存错误"
                "(`dmesg -T`)。更新 GPU 驱动、固件与内核;虚拟机请向提供商询问 CPU steal。若重复出现,排空并重启"
                "节点,在别处从最近的检查点继续。",
            ),
        ),
    ),
    (
        (
            r"\b(?:Watchdog detected hard LOCKUP on cpu (?P<cpu>\d{1,5})|rcu: INFO: rcu_\w{1,20} (?:self-)?det"
            r"ected (?:expedited )?stalls? on CPU)"
        ),
        Message(
            en=Words(
                "a processor was stuck inside the kernel (hard lockup or RCU stall)",
                "It did not even answer interrupts or the kernel's own book-keeping: firmware, a driver, "
                "failing hardware, or a host that took the processor away from a virtual machine. The ranks on "
                "the machine stand still and others time out.",
                "Read the call trace below the line for function and module. Look for `NVRM: Xid`, machine "
                "checks and PCIe errors (`dmesg -T`), update firmware, GPU driver and kernel, and reboot the "
                "node; in a virtual machine ask the provider. Keep jobs off it until then and resume from the "
                "last checkpoint elsewhere.",
            ),
            zh=Words(
                "某个处理器在内核中卡住(hard lockup 或 RCU stall)",
                "它甚至不响应中断或内核自身的记账:固件、驱动、硬件故障,或虚拟机的处理器被宿主机抢走。该机上的 "
                "rank 停滞,其余 rank 超时。",
                "查看该行下方调用栈中的函数与模块。检查 `NVRM: Xid`、机器检查与 PCIe 错误(`dmesg -T`),更新固件"
                "、GPU 驱动与内核,并重启节点;虚拟机请联系提供商。在此之前不要使用该节点,在别处从最近的检查点继"
                "续。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)

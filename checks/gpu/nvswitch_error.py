"""An NVSwitch reported an error.

## What it means
NVSwitches join the GPUs of HGX and DGX machines. Their driver and the fabric manager log errors of theirs as SXid:
fatal ones take links down, others are often the echo of a GPU or a program that failed.
## What it does to a run
After a fatal one the GPUs on it cannot be used until they and the switches are reset; NVLink traffic may fail.
## What to do
Reset all GPUs and switches or reboot; look for the GPU's Xid at the same time.
## How it is found
In a log: by the SXid lines of the kernel and of the fabric manager.
## References
https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html
https://github.com/leptonai/gpud/blob/main/components/accelerator/nvidia/fabric-manager/log_matcher.go
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="GPU019", name="nvswitch-error", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"\bSXid \([^)\n]{1,60}\): (?P<code>\d{5}), Fatal|detected NVSwitch fatal error (?P<number>\d{5}) "
            r"on fid"
        ),
        Message(
            en=Words(
                "an NVSwitch reported a fatal error",
                "The switch between the GPUs took a link or itself out of service. Programs on the GPUs of "
                "this machine fail (Xid 74 or 45, `cudaErrorSystemNotReady`), and new ones do not start until "
                "the fabric is set up again. It is hardware or its firmware, not the program.",
                "Drain the node. Stop everything on the GPUs, then `systemctl stop nvidia-fabricmanager`, "
                "`nvidia-smi -r` (all GPUs and switches together), start the fabric manager again, or reboot. "
                "Read /var/log/fabricmanager.log. When it comes back, hand the SXid to the vendor and have the "
                "baseboard examined.",
            ),
            zh=Words(
                "NVSwitch 报告致命错误",
                "连接各 GPU 的交换芯片停用了某条链路或自身。本机 GPU 上的程序会失败(Xid 74 或 45、"
                "`cudaErrorSystemNotReady`),在重新建立互联之前新程序也无法启动。这是硬件或其固件问题,与程序无关"
                "。",
                "排空节点。停止 GPU 上的一切,然后 `systemctl stop nvidia-fabricmanager`,`nvidia-smi -r`(所有 "
                "GPU 与交换芯片一起复位),再启动 fabric manager,或直接重启。查看 /var/log/fabricmanager.log。若"
                "再次出现,将 SXid 交给厂商并检查基板。",
            ),
        ),
    ),
    (
        (
            r"\bSXid \([^)\n]{1,60}\): (?P<code>\d{5}), Non-fatal|detected NVSwitch non-fatal error (?P<number"
            r">\d{5}) on fid"
        ),
        Message(
            en=Words(
                "an NVSwitch reported an error that is not fatal",
                "A packet on a link between GPU and switch was refused or repeated. Most often it is the echo "
                "of a GPU or a program that failed at that moment (look for the GPU's Xid beside it); coming "
                "again and again without one, a link or a switch of the machine is going bad.",
                "Look at the same time in `dmesg -T | grep -E 'Xid|SXid'` and in the program's log for what "
                "failed first. Nothing further is needed if it stays alone. When it repeats, drain the node, "
                "reset all GPUs (`nvidia-smi -r`) or reboot, check `nvidia-smi nvlink -e`, run `dcgmi diag -r "
                "3`, and hand the SXid to the vendor.",
            ),
            zh=Words(
                "NVSwitch 报告非致命错误",
                "GPU 与交换芯片之间的某个数据包被拒绝或重传。多数是当时某个 GPU 或程序失败的回响(查看旁边的 "
                "GPU Xid);若没有伴随 Xid 而反复出现,说明机器的链路或交换芯片正在损坏。",
                "在 `dmesg -T | grep -E 'Xid|SXid'` 和程序日志中查看同一时刻最先失败的是什么。只出现一次则无需"
                "处理。若反复出现:排空节点,复位所有 GPU(`nvidia-smi -r`)或重启,检查 `nvidia-smi nvlink -e`,运行"
                " `dcgmi diag -r 3`,并将 SXid 交给厂商。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)

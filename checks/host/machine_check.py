"""The machine's hardware reported an error that it could not correct, or the kernel gave up.

## What it means
The processor or the memory controller found damaged data (machine check, uncorrected ECC error of RAM), or the kernel
stopped in a panic.
## What it does to a run
The process that touched the memory is killed (SIGBUS), or the whole node goes down; all other ranks lose it.
## What to do
Take the node out of service and have its memory and board examined.
## How it is found
In a log: by the kernel's hardware-error and panic lines.
## References
https://docs.kernel.org/admin-guide/ras.html
https://docs.kernel.org/mm/hwpoison.html
https://github.com/leptonai/gpud/blob/main/components/os/kmsg_matcher.go
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="HST021", name="machine-check", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        r"\bKernel panic - not syncing: (?P<why>[^\n]{1,120})",
        Message(
            en=Words(
                "the kernel of a node panicked: the machine went down",
                "Whatever ran on it ended with it, and every other rank lost its connections. A panic comes "
                "from hardware (memory, processor, board), a driver (the GPU's or the network's included), or "
                "a setting such as panic on out-of-memory or on hung tasks.",
                "Read the lines before the panic: machine checks, `NVRM: Xid`, a driver's name in the call "
                "trace, the out-of-memory killer. Take the node out of service until that is clear; keep the "
                "dump (`/var/crash`, `kdump`), update kernel, driver and firmware, and resume the run "
                "elsewhere from the last checkpoint.",
            ),
            zh=Words(
                "某节点的内核发生 panic:机器已停止",
                "其上运行的一切随之结束,其他 rank 失去连接。panic 的来源可能是硬件(内存、处理器、主板)、驱动(包"
                "括 GPU 与网卡),或设置(内存不足或任务阻塞时 panic)。",
                "查看 panic 之前的行:机器检查、`NVRM: Xid`、调用栈中的驱动名、OOM killer。查明前不要使用该节点;"
                "保留转储(`/var/crash`、`kdump`),更新内核、驱动与固件,在别处从最近的检查点继续。",
            ),
        ),
    ),
    (
        (
            r"\bEDAC [^\n]{1,40}: \d{1,6} UE |Killing (?P<task>[^:\n]{1,60}):\d{1,9} due to hardware memory co"
            r"rruption|\[Hardware Error\]: [^\n]{0,80}(?:severity: (?:fatal|recoverable)|Uncorrected error|unc"
            r"orrected DRAM|Processor context corrupt)"
        ),
        Message(
            en=Words(
                "the machine's memory or processor has an uncorrectable hardware error",
                "The kernel found data in RAM, caches or a bus damaged beyond what error correction mends, and "
                "killed what used it. The program is not at fault; results computed with it cannot be trusted.",
                "Take the node out of service. `ras-mc-ctl --errors`, `ipmitool sel elist` and `mcelog` name "
                "the memory module or socket: have it replaced, then run a memory test. Resume the run on "
                "another node from the last checkpoint.",
            ),
            zh=Words(
                "机器的内存或处理器出现无法纠正的硬件错误",
                "内核发现内存、缓存或总线中的数据损坏且无法纠错,并杀死了使用它的进程。与程序无关;用它算出的结果"
                "不可信。",
                "停用该节点。`ras-mc-ctl --errors`、`ipmitool sel elist`、`mcelog` 会指出内存条或插槽:更换后做"
                "内存测试。在其他节点从最近的检查点继续。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)

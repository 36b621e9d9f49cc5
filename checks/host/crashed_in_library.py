"""The kernel tells in which library a process crashed.

## What it means
When a process ends by a segmentation fault, the kernel writes the program, the address and the library whose code
ran. It is where the crash surfaced, in native code, below Python.
## What it does to a run
The rank ends with exit code -11 or 139 and no traceback; the others lose it.
## What to do
Look at that library: its version, whether it belongs to the installed torch, driver or compiler; get a stack with
faulthandler.
## How it is found
In a log: by the kernel's `segfault at` and `trap` lines.
## References
https://github.com/leptonai/gpud/blob/main/components/accelerator/nvidia/nccl/kmsg_matcher.go
https://github.com/torvalds/linux/blob/master/arch/x86/mm/fault.c
https://docs.python.org/3/library/faulthandler.html
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="HST022", name="crashed-in-library", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"\b(?P<task>[\w.\-/:]{1,60})\[(?P<pid>\d{1,9})\]: segfault at [^\n]{1,160} in (?P<library>libnccl"
            r"[\w.\-]{1,60})\["
        ),
        Message(
            en=Words(
                "`{task}` crashed inside NCCL (`{library}`): segmentation fault",
                "The process was in a collective or setting one up when memory was read that is not there. "
                "Reasons are a defect of that NCCL release, two NCCLs in one process (the wheel's and the "
                "system's), a net plugin of another version (libnccl-net.so), or a communicator that was torn "
                "down while the GPU fabric or another rank failed. Ranks that report a lost connection "
                "afterwards only follow.",
                "See whether the same node does it again (then look at `dmesg -T` for `NVRM: Xid`, NVLink and "
                "fabric manager errors) or any. Run with `NCCL_DEBUG=INFO`: its first lines tell version and "
                "plugin. Upgrade NCCL (`pip install -U nvidia-nccl-cu12`, CUDA 13: `-cu13`), take foreign ones "
                "out of LD_LIBRARY_PATH and LD_PRELOAD, and try without plugin (`NCCL_NET_PLUGIN=none`).",
            ),
            zh=Words(
                "`{task}` 在 NCCL(`{library}`)中崩溃:段错误",
                "进程在集合通信或建立通信时访问了不存在的内存。原因可能是该 NCCL 版本的缺陷、同一进程中有两个 "
                "NCCL(wheel 与系统)、网络插件版本不符(libnccl-net.so),或在 GPU 互联或其他 rank 失败时销毁通信域"
                "。之后报告连接丢失的 rank 只是后果。",
                "看是否总在同一节点发生(若是,用 `dmesg -T` 查看 `NVRM: Xid`、NVLink 与 fabric manager 错误)。用"
                " `NCCL_DEBUG=INFO` 运行:开头几行给出版本与插件。升级 NCCL(`pip install -U "
                "nvidia-nccl-cu12`,CUDA 13:`-cu13`),从 LD_LIBRARY_PATH 与 LD_PRELOAD 中去掉其他版本,并尝试不用"
                "插件(`NCCL_NET_PLUGIN=none`)。",
            ),
        ),
    ),
    (
        (
            r"\b(?P<task>[\w.\-/:]{1,60})\[(?P<pid>\d{1,9})\]:? (?:segfault at |general protection (?:fault )?"
            r"ip:|trap invalid opcode ip:|trap int3 ip:)[^\n]{1,160} in (?P<library>(?!libnccl)[\w.\-+]{1,120}"
            r")\["
        ),
        Message(
            en=Words(
                "`{task}` crashed inside `{library}`, in native code",
                "The kernel saw the process read or run what it may not, while code of that library ran: a "
                "defect in it, a build that does not belong to the installed torch, driver or CPU (an invalid "
                "opcode means instructions that this CPU lacks), or memory that other code had damaged. Python "
                "shows no traceback for it.",
                "Run once with `PYTHONFAULTHANDLER=1`, which prints the Python frames at the crash. See which "
                "package owns the library (`pip show -f`, `ldd`), reinstall or upgrade it for the installed "
                "torch, and take doubles of it out of LD_LIBRARY_PATH and LD_PRELOAD. libcuda: look for `NVRM: "
                "Xid` in `dmesg -T` and update the driver.",
            ),
            zh=Words(
                "`{task}` 在 `{library}` 的本地代码中崩溃",
                "内核发现进程在执行该库代码时进行了非法访问:库的缺陷、与已安装的 torch、驱动或 CPU 不匹配的构建"
                "(invalid opcode 表示 CPU 不支持该指令),或内存被其他代码破坏。Python 不会给出回溯。",
                "用 `PYTHONFAULTHANDLER=1` 再运行一次,可打印崩溃时的 Python 栈。查明该库属于哪个包(`pip show "
                "-f`、`ldd`),按已安装的 torch 重装或升级,并从 LD_LIBRARY_PATH、LD_PRELOAD 去掉重复的库。若是 "
                "libcuda:在 `dmesg -T` 中查找 `NVRM: Xid` 并更新驱动。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)

"""A process asked for host memory and did not get it.

## What it means
malloc, fork or numpy was refused: the limit of the process, the container or the machine is reached.
## What it does to a run
The process ends with its own exception, unlike after the out-of-memory killer.
## What to do
Less use of RAM, a higher limit, overcommit allowed.
## How it is found
The exceptions of torch's CPU allocator, of numpy and of fork.
## References
https://docs.kernel.org/mm/overcommit-accounting.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="MEM019", name="host-memory-exhausted", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"DefaultCPUAllocator: (?:can't allocate|not enough) memory: you tried to allocate"
        r" (?P<bytes>\d{1,20}) bytes"
    ),
    Signature(r"Unable to allocate (?P<size>[\d.]{1,10} [KMGTP]iB) for an array with shape"),
    Signature(r"^OSError: \[Errno 12\] "),
    Signature(r"^MemoryError$|ArrowMemoryError: (?:malloc|realloc) of size \d{1,20} failed"),
    Signature(r"\[WinError (?P<windows>1455)\]|\(os error (?P<native>1455)\)"),
)

LOG_MESSAGE = Message(
    en=Words(
        "host memory (RAM) was refused{size}",
        "The allocation is ordinary RAM, not GPU memory: the machine, the container or `ulimit -v` "
        "has no more, or the kernel does not overcommit for a fork of so large a process.",
        "Use less RAM (no CPU offload, fewer `dataloader_num_workers`, streaming or memory-mapped "
        "data, `low_cpu_mem_usage=True`) or allow more (`free -h`, `ulimit -v unlimited`, container "
        "limit, `sysctl vm.overcommit_memory=1` for forks).",
    ),
    zh=Words(
        "主机内存(RAM)申请被拒绝{size}",
        "申请的是普通内存而非显存:机器、容器或 `ulimit -v` 已到上限,或内核不允许为如此大的进程 fork 而超额分配。",
        "减少内存使用(关闭 CPU 卸载、减少 `dataloader_num_workers`、使用流式或内存映射数据、"
        "`low_cpu_mem_usage=True`),或提高上限(`free -h`、`ulimit -v unlimited`、容器限制、fork 时 "
        "`sysctl vm.overcommit_memory=1`)。",
    ),
)


PAGE_FILE = Message(
    en=Words(
        "Windows has no memory left to promise: the page file is too small",
        "Windows counts what is reserved, not only what is used: the mapped weights, and every worker process that "
        "imports torch's CUDA libraries (several GiB each), must fit into RAM and page file together.",
        "Enlarge the page file (System > Advanced > Performance > Virtual memory: 32 to 64 GB, or system managed, on a "
        "disk with room) and restart. Use fewer processes (`dataloader_num_workers=0`, `num_proc=None`), a smaller or "
        "quantized model, and close other programs; WSL2 has its own limit in `.wslconfig`.",
    ),
    zh=Words(
        "Windows 已无可承诺的内存:页面文件(虚拟内存)太小",
        "Windows 按预留量而非实际使用量计算:映射的权重,以及每个导入 torch CUDA 库的工作进程(各数 GiB),都必须能放进内存"
        "与页面文件之和。",
        "增大页面文件(系统 > 高级 > 性能 > 虚拟内存:32 至 64 GB,或由系统管理,所在磁盘要有空间)并重启。减少进程"
        "(`dataloader_num_workers=0`、`num_proc=None`),使用更小或量化的模型,关闭其他程序;WSL2 的上限在 `.wslconfig` 中"
        "。",
    ),
)


def explain(hits: Hits) -> Finding:
    """With the size that was asked for; Windows says it by the number of its error."""
    if hits.get("windows") or hits.get("native"):
        return found(PROBLEM, PAGE_FILE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    size = hits.get("size")
    if told := hits.get("bytes"):
        size = f"{int(told) / 2**30:.1f} GiB"
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        size=f": {size}" if size else "",
    )

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


def explain(hits: Hits) -> Finding:
    """With the size that was asked for."""
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

"""The kernel refuses to map a file or shared memory.

## What it means
`Cannot allocate memory` at mmap has three reasons: the process has as many mappings as `vm.max_map_count` allows
(65,530; every tensor that a data-loader worker sends takes one), the memory limit of the job counts address space, or
the machine promises no more memory than it has (`vm.overcommit_memory=2`, or a file larger than memory and swap).
## What it does to a run
Loading of weights or of the next batch fails, often on some ranks only.
## What to do
For many small pieces raise the number of mappings; for large files give the job memory or let fewer processes load.
## How it is found
In a log: by torch's message, which names size and file.
## References
https://github.com/kohya-ss/sd-scripts/issues/1790
https://github.com/xdit-project/xDiT/issues/190
https://docs.kernel.org/admin-guide/sysctl/vm.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="HST015", name="memory-mapping-refused", severity=ERROR, since="0.1")

SMALL = 64 * 2**20  # pieces of batches are smaller, files of weights larger

SIGNATURES = (
    Signature(
        r"unable to mmap (?P<bytes>\d{1,15}) bytes from file <(?P<file>[^>\n]{1,300})>: Cannot allocat"
        r"e memory",
    ),
)

LOG_MESSAGE_PIECES = Message(
    en=Words(
        "a process may not map another piece of shared memory ({size})",
        "Every tensor that a data-loader worker hands over takes a mapping of its own, and the kernel "
        "allows a process `vm.max_map_count` of them (65,530 by default). So small a piece fails because "
        "of their number, or because the memory limit of the job is reached.",
        "Compare `wc -l /proc/PID/maps` with `sysctl vm.max_map_count`, and raise that as root: `sysctl "
        "-w vm.max_map_count=262144`. Without root call "
        '`torch.multiprocessing.set_sharing_strategy("file_descriptor")` with a high `ulimit -n`, lower '
        "`dataloader_num_workers` and the prefetch factor, and keep samples in few large arrays. If the "
        "count is low, look at free memory and at the job's limit.",
    ),
    zh=Words(
        "进程无法再映射一块共享内存({size})",
        "数据加载进程交付的每个张量都占一个映射,而内核只允许每个进程有 `vm.max_map_count` 个(默认 65,530)"
        "。这么小的一块失败,原因是数量,或作业的内存上限已到。",
        "比较 `wc -l /proc/PID/maps` 与 `sysctl vm.max_map_count`,并以 root 提高:`sysctl -w "
        "vm.max_map_count=262144`。没有 root 时,调用 "
        '`torch.multiprocessing.set_sharing_strategy("file_descriptor")` 并提高 `ulimit -n`,减少 '
        "`dataloader_num_workers` 与预取数,把样本存成少量大数组。若数量不高,请查看空闲内存与作业上限。",
    ),
)

LOG_MESSAGE_FILE = Message(
    en=Words(
        "a file of {size} cannot be mapped into host memory",
        "The kernel does not promise that much: every process of the node maps the weights for itself, "
        "and together they exceed memory and swap (under `vm.overcommit_memory=2` or for writable maps), "
        "the memory that the scheduler gave, or `ulimit -v`.",
        "Compare `free -g`, `ulimit -v` and the job's limit with the size of the model times the "
        "processes of this node. Ask for more memory (`--mem`, `--memory`), load on one rank only "
        "(`low_cpu_mem_usage`, ZeRO-3 or FSDP with rank-0 loading), or as root `sysctl -w "
        "vm.overcommit_memory=1`.",
    ),
    zh=Words(
        "无法把 {size} 的文件映射到主机内存",
        "内核不会承诺这么多:节点上每个进程都各自映射权重,合计超过内存与 swap(`vm.overcommit_memory=2` 或"
        "可写映射时)、调度系统给的内存,或 `ulimit -v`。",
        "将 `free -g`、`ulimit -v` 与作业上限同“模型大小 × 本节点进程数”比较。申请更多内存(`--mem`、"
        "`--memory`),只在一个 rank 上加载(`low_cpu_mem_usage`、ZeRO-3 或 FSDP 的 rank 0 加载),或以 root "
        "执行 `sysctl -w vm.overcommit_memory=1`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Small pieces of shared memory run out of mappings, large files out of memory."""
    size = int(hits.get("bytes") or 0)
    name = hits.get("file") or ""
    pieces = size < SMALL and ("/torch_" in name or "not specified" in name)
    return found(
        PROBLEM,
        LOG_MESSAGE_PIECES if pieces else LOG_MESSAGE_FILE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        size=f"{size:,} bytes" if pieces else f"{size / 1e9:.1f} GB",
        commands=("sudo sysctl -w vm.max_map_count=262144",) if pieces else (),
    )

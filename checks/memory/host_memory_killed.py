"""The kernel or the scheduler killed a process because host memory ran out.

## What it means
The machine, the container or the job step used more RAM than it may; the out-of-memory killer picked a process and
ended it with SIGKILL.
## What it does to a run
A rank disappears without a message of its own; others report lost connections.
## What to do
More memory, or less use of it: no CPU offload, fewer data-loader workers, no swap_space, fewer ranks a machine.
## How it is found
The words of the kernel's log, of slurmstepd or of Kubernetes. PyTorch says of a data-loader worker only that SIGKILL
ended it: then it is likely.
## References
https://docs.kernel.org/admin-guide/cgroup-v2.html
https://slurm.schedmd.com/cgroup.conf.html
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="MEM017", name="host-memory-killed", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:Memory cgroup out of memory|Out of memory): Kill(?:ed)? process (?P<pid>\d{1,9})"
        r" \((?P<name>[^)\n]{1,40})\)"
    ),
    Signature(r"slurmstepd: error: Detected [1-9]\d{0,5} oom[-_]kill event"),
    Signature(r"\bOOMKill(?:ed)?\b(?!['\"]?[:=] ?['\"]?(?:[Ff]alse|0|null|None)\b)[^\n]{0,80}"),  # docker inspect
    Signature(r"task \d{1,6}: Out Of Memory"),
    Signature(
        r"\b(?P<invoker>[\w.\-/:]{1,40}) invoked oom-killer: "
        r"|\boom-kill:constraint=CONSTRAINT_(?P<constraint>\w{3,20}),"
        r"|systemd-oomd\[\d{1,9}\]: Killed |\bearlyoom\[\d{1,9}\]: sending SIG(?:TERM|KILL) to process"
    ),
    Signature(r"DataLoader worker \(pid\(?s?\)? ?(?P<worker>[\d, ]{1,80})\) is killed by signal: Killed"),
)

_EN = Words(
    "host memory ran out, and the out-of-memory killer ended a process",
    "The kernel (or the memory limit of the container or job) counts RAM, not GPU memory: "
    "offloaded optimizer states, pinned buffers, data-loader workers, weights loaded once per "
    "rank, /dev/shm and Ray's object store all count. What other ranks report afterwards only "
    "follows.",
    "Give the job more RAM (`sbatch --mem`, `docker run --memory`, `resources.limits.memory`), "
    "or use less: turn CPU offload off, lower `dataloader_num_workers` (and `swap_space` of vLLM's V0 engine), load "
    "with `low_cpu_mem_usage=True`, run fewer ranks per machine. Watch it with `free -h` or "
    "`sacct -j JOB --format=MaxRSS`.",
)
_ZH = Words(
    "主机内存耗尽,内存不足终止程序(OOM killer)结束了一个进程",
    "内核(或容器、作业的内存限制)计算的是内存而非显存:卸载的优化器状态、锁页缓冲、数据加载进程、"
    "每个 rank 各自加载的权重、/dev/shm 与 Ray 对象存储都计入。其他 rank 随后的报错只是后果。",
    "为作业分配更多内存(`sbatch --mem`、`docker run --memory`、`resources.limits.memory`),或减少"
    "使用:关闭 CPU 卸载,降低 `dataloader_num_workers`(以及 vLLM V0 引擎的 `swap_space`),用 "
    "`low_cpu_mem_usage=True` 加载,减少每台机器的 rank 数。可用 `free -h` 或 `sacct -j JOB "
    "--format=MaxRSS` 观察。",
)

LOG_MESSAGE = Message(en=_EN, zh=_ZH)

#: only PyTorch speaks of it
WORKER = Message(
    en=replace(_EN, headline="a data-loader worker was killed, most likely because host memory ran out"),
    zh=replace(_ZH, headline="一个数据加载进程被杀死,多半是主机内存耗尽"),
)


def explain(hits: Hits) -> Finding:
    """SIGKILL may come from a person, too, where only PyTorch speaks of it."""
    sure = any(not each.groups.get("worker") for each in hits)
    return found(
        PROBLEM, LOG_MESSAGE if sure else WORKER, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if sure else LIKELY,
    )  # fmt: skip

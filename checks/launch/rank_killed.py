"""A process of the run was killed with SIGKILL from outside.

## What it means
SIGKILL (exit code -9 or 137) cannot be sent by a process to itself by accident: the kernel's out-of-memory killer,
the memory limit of a container or scheduler, or a person did it. The process has no chance to print anything.
## What it does to a run
The rank disappears in the middle; the others lose their connection to it, and the launcher ends them.
## What to do
Ask the kernel log and the container or scheduler. If it was memory: fewer data-loader workers, no CPU offload or a
smaller one, fewer ranks a host, or a higher limit.
## How it is found
The exit code that the launcher, the shell or the scheduler reports.
## References
https://www.kernel.org/doc/html/latest/admin-guide/cgroup-v2.html
https://man7.org/linux/man-pages/man7/signal.7.html
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="LCH018", name="rank-killed", severity=ERROR, since="0.1")

OF_RANK = Message(
    en=Words(
        "rank {rank} was killed with SIGKILL from outside (exit code -9 or 137)",
        "A killed process leaves no message. Most often the kernel's out-of-memory killer did it because host memory "
        "ran out (offloaded optimizer states, data-loader workers, checkpoints gathered on one rank), or the memory "
        "limit of the container or scheduler. What the other ranks report afterwards only follows from it.",
        "Look for the kill in the kernel log of that rank's machine and compare the memory limit with what the run "
        "needs; then lower host memory (fewer workers, less CPU offload, fewer ranks a host) or raise the limit "
        "(`--mem` of Slurm, `--memory` of docker).",
    ),
    zh=Words(
        "rank {rank} 被外部以 SIGKILL 杀死(退出码 -9 或 137)",
        "被杀死的进程来不及输出。多半是主机内存耗尽时内核的 OOM killer(卸载的优化器状态、数据加载进程、在单个 rank "
        "上汇集的检查点),或容器、调度器的内存上限。其他 rank 随后的报错只是后果。",
        "在该 rank 所在机器的内核日志中查找该次杀死,并比较内存上限与所需内存;然后减少主机内存占用(更少的 worker、"
        "更少的 CPU 卸载、每台主机更少的 rank),或提高上限(Slurm 的 `--mem`,docker 的 `--memory`)。",
    ),
)
LOG_MESSAGE = Message(
    en=Words(
        "a process was killed with SIGKILL from outside (exit code -9 or 137)",
        "A killed process leaves no message. Most often the kernel's out-of-memory killer did it because host memory "
        "ran out (offloaded optimizer states, data-loader workers, checkpoints gathered on one rank), or the memory "
        "limit of the container or scheduler. What the other ranks report afterwards only follows from it.",
        "Look for the kill in the kernel log and compare the memory limit with what the run needs; then lower host "
        "memory (fewer workers, less CPU offload, fewer ranks a host) or raise the limit (`--mem` of Slurm, `--memory` "
        "of docker).",
    ),
    zh=Words(
        "有进程被外部以 SIGKILL 杀死(退出码 -9 或 137)",
        "被杀死的进程来不及输出。多半是主机内存耗尽时内核的 OOM killer(卸载的优化器状态、数据加载进程、在单个 rank 上汇"
        "集的检查点),或容器、调度器的内存上限。其他 rank 随后的报错只是后果。",
        "在内核日志中查找该次杀死,并比较内存上限与所需内存;然后减少主机内存占用(更少的 worker、更少的 CPU 卸载、每台主"
        "机更少的 rank),或提高上限(Slurm 的 `--mem`,docker 的 `--memory`)。",
    ),
)
LOG_COMMANDS = ("dmesg -T | grep -i -E 'killed process|oom'",)

SIGNATURES = (
    Signature(
        r"failed \(exitcode: -9\) local_rank: (?P<local_rank>\d{1,6})", symptom_of=("MEM017", "MEM018", "MEM019")
    ),
    Signature(
        r"^srun: error: [\w.\-\[\],]{1,80}: tasks? [\d,\-]{1,80}: Killed", symptom_of=("MEM017", "MEM018", "MEM019")
    ),
    Signature(r"died with <Signals\.SIGKILL: 9>", symptom_of=("*",)),
    Signature(r"\bexits with return code = -9$", symptom_of=("MEM017", "MEM018", "MEM019")),
    Signature(r"^\s{0,8}rank {1,8}: (?P<rank>\d{1,6}) \(local_rank: (?P<local>\d{1,6})\)", kind="sign"),
    Signature(r"(?:^|\] )Exit code: -9$", symptom_of=("MEM017", "MEM018", "MEM019")),  # the scheduler of SGLang
    Signature(
        r"ProcessExitedException: process \d{1,6} terminated with signal SIGKILL$",
        symptom_of=("MEM017", "MEM018", "MEM019"),
    ),
    Signature(r"^doctor: process `[^`\n]{1,80}` was killed by signal 9$", symptom_of=("MEM017", "MEM018", "MEM019")),
)


def explain(hits: Hits) -> Finding | None:
    """Name the rank where the launcher's table gives one to the local rank that was killed."""
    local = hits.get("local_rank")
    ranks = {hit.groups["rank"] for hit in hits if hit.groups.get("rank") and hit.groups.get("local") == local}
    rank = int(next(iter(ranks))) if len(ranks) == 1 else None
    where = hits.where() if rank is None else replace(hits.where(), rank=rank)
    return found(
        PROBLEM, LOG_MESSAGE if rank is None else OF_RANK, where=where, evidence=hits.evidence(), confidence=LIKELY,
        commands=LOG_COMMANDS, rank=rank,
    )  # fmt: skip

"""Processes of a group of ray.util.collective did not meet.

## What it means
Rank 0 of the group leaves NCCL's id with a named actor of Ray, and the others look for it for 180 seconds. The group is
made at the first operation, so every rank must come to it within that time.
## What it does to a run
Weights do not reach the rollout workers, and the run ends.
## What to do
Find the rank that did not come: it died, hangs, or was told another group or number of ranks.
## How it is found
In a log: by Ray's message.
## References
https://github.com/verl-project/verl/issues/5009
https://github.com/ray-project/ray/blob/master/python/ray/util/collective/collective_group/nccl_collective_group.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="RAY043", name="collective-group-not-met", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"RuntimeError: Unable to meet other processes at the rendezvous store", symptom_of=("*",)),
    Signature(r"RuntimeError: Unable to get the NCCLUniqueID from the store", symptom_of=("*",)),
)

LOG_MESSAGE = Message(
    en=Words(
        "a rank waited 180 s for rank 0 of its Ray collective group, which did not come",
        "Trainers (veRL's asynchronous recipes, OpenRLHF) send weights over such a group. Rank 0 leaves NCCL's id "
        "with an actor of Ray when it comes to the first operation. It died or hangs before, is still busy with "
        "something longer (a rollout, loading a model), or runs under another group name, number of ranks or Ray "
        "namespace.",
        "Look in the logs of the other ranks, rank 0 first, for an earlier error, and take `py-spy dump --pid PID` of "
        "those that say nothing. `ray list actors` shows who died. Give every process of the group the same name and "
        "world size.",
    ),
    zh=Words(
        "一个 rank 等待其 Ray 通信组的 rank 0 达 180 秒,后者没有出现",
        "训练框架(veRL 的异步 recipe、OpenRLHF)通过这样的组发送权重。rank 0 到达第一个操作时才把 NCCL 的 id 交给 Ray "
        "的一个 actor。它在此之前已退出或卡住,仍忙于更耗时的事(rollout、加载模型),或使用了另一个组名、rank 数或 Ray "
        "namespace。",
        "在其他 rank(先看 rank 0)的日志中查找更早的错误,对没有输出的进程执行 `py-spy dump --pid PID`。`ray list "
        "actors` 显示哪些已退出。确保组内每个进程使用相同的组名和 world size。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Where another failure is found, that one is the cause."""
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)

"""A Ray actor or worker process died without an exception of its own.

## What it means
The process was killed (out-of-memory killer, scheduler) or crashed in native code; Ray only sees the closed
connection.
## What it does to a run
Calls to it fail everywhere.
## What to do
Find out how the process ended.
## How it is found
Ray's messages about dead workers.
## References
https://docs.ray.io/en/latest/ray-core/fault_tolerance/actors.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="RAY009", name="ray-actor-died", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"A worker died or was killed while executing a task by an unexpected system error", symptom_of=("*",)),
    Signature(
        r"The actor is dead because its worker process has died\. Worker exit type: (?P<type>\w{1,40})",
        symptom_of=("*",),
    ),
    Signature(r"The actor died because its node has died", symptom_of=("*",)),
    Signature(
        r"The node with node id: \w{1,80} and address: (?P<address>[\w.:\-]{1,60})[^\n]{0,120}has"
        r" been marked dead",
        symptom_of=("*",),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a Ray worker process or node died without a message of its own",
        "Ray saw only the closed connection. Most often the out-of-memory killer of the machine or "
        "container ended the process, otherwise it crashed in native code (signal 11 or 6), or its "
        "node was lost.",
        "Look in the session folder (/tmp/ray/session_latest/logs) at worker-*.err and "
        "python-core-worker-*.log of that pid, and at `dmesg -T | grep -i killed` on its node. If "
        "memory grows from step to step: lower CPU offload, `num_workers` and the rollout's host "
        "memory; vLLM 0.7.x leaks host memory with each sleep and wake-up (fixed in 0.8).",
    ),
    zh=Words(
        "一个 Ray 工作进程或节点没有留下自己的报错就退出",
        "Ray 只看到连接关闭。最常见的是机器或容器的 OOM killer 终止了该进程;否则是原生代码崩溃(信号 "
        "11 或 6),或节点丢失。",
        "在会话目录(/tmp/ray/session_latest/logs)查看该 pid 的 worker-*.err 与 "
        "python-core-worker-*.log,并在其节点上运行 `dmesg -T | grep -i killed`。若内存逐步增长:减少 "
        "CPU 卸载、`num_workers` 与 rollout 的主机内存;vLLM 0.7.x 每次睡眠与唤醒都会泄漏主机内存(0.8 "
        "已修复)。",
    ),
)
LOG_CONFIDENCE = LIKELY

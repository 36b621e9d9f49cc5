"""Something of Ray was used before this process had joined a cluster.

## What it means
Tasks, actors, objects and Ray's debugger need the connection that `ray.init()` makes. A process that was started beside
Ray (a subprocess, a script of its own), or code that runs before `ray.init()`, has none.
## What it does to a run
RaySystemError or AttributeError at the first call.
## What to do
Call `ray.init()` first, or run the code inside of a task or actor.
## How it is found
In a log: by Ray's words, and by the attribute that its worker lacks before it is connected.
## References
https://docs.ray.io/en/latest/ray-core/starting-ray.html
https://github.com/ray-project/ray/blob/ray-2.50.0/python/ray/_private/worker.py
https://github.com/THUDM/slime/blob/main/docs/en/developer_guide/debug.md
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="RAY042", name="ray-not-initialised", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Ray has not been started yet\. You must start Ray with '?`?ray\.init\(\)"),
    Signature(r"AttributeError: 'Worker' object has no attribute 'core_worker'", frame=r"[\\/]ray[\\/]"),
)

LOG_MESSAGE = Message(
    en=Words(
        "Ray was used in a process that has not called `ray.init()`",
        "Its tasks, actors, objects and its debugger work through a connection that this process does not "
        "have{debugger}: the call stands before `ray.init()`, the process was started beside Ray (a subprocess, a "
        "reward server), or Ray was shut down before.",
        "Call `ray.init()` first (`ray.init(address='auto')` to join a cluster that runs), or move the code into a "
        "task or actor. For `breakpoint()` in a driver put `import ray; ray.init()` above it, and take both out "
        "afterwards.",
    ),
    zh=Words(
        "在没有调用 `ray.init()` 的进程中使用了 Ray",
        "Ray 的任务、actor、对象与调试器都依赖该进程所没有的连接{debugger_zh}:调用位于 `ray.init()` 之前,进程是在 Ray "
        "之外启动的(子进程、奖励服务),或 Ray 已被关闭。",
        "先调用 `ray.init()`(加入已运行的集群用 `ray.init(address='auto')`),或把代码移入任务或 actor。driver 中的 "
        "`breakpoint()` 之前加 `import ray; ray.init()`,调试后去掉两者。",
    ),
)


def explain(hits: Hits) -> Finding:
    """A breakpoint is told as such: Ray takes it over where its debugger is on."""
    broken = any("debug" in frame or "rpdb" in frame for frame in hits.first.frames)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        debugger=" (here a `breakpoint()`, which Ray takes over)" if broken else "",
        debugger_zh="(此处是被 Ray 接管的 `breakpoint()`)" if broken else "",
    )  # fmt: skip

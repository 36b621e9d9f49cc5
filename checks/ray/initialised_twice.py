"""ray.init is called where Ray is connected already.

## What it means
A process has one connection to Ray. A library connected it (an engine of vLLM, veRL, OpenRLHF), or a notebook cell
ran twice, and the script calls `ray.init` again.
## What it does to a run
The call raises and the run ends.
## What to do
Connect once, before the libraries.
## How it is found
In a log, by Ray's error, or by the check of its core that ends the process.
## References
https://docs.ray.io/en/latest/ray-core/api/doc/ray.init.html
https://github.com/ray-project/ray/pull/54906
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="RAY025", name="ray-initialised-twice", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:Maybe|Perhaps) you called ray\.init twice by accident\?",
    ),
    Signature(r"Check failed: !core_worker_process The process is already initialized for core worker"),
)

LOG_MESSAGE = Message(
    en=Words(
        "`ray.init` was called in a process that is connected to Ray already",
        "Each process has one connection. The first call may be hidden: vLLM with "
        '`distributed_executor_backend="ray"`, a library\'s own start, any `.remote()` before `ray.init`, '
        "which connects by itself, or a notebook cell that ran again.",
        "Write `if not ray.is_initialized(): ray.init(...)`, and put it before everything that uses Ray, so "
        "that its options count. `ray.init(ignore_reinit_error=True)` keeps the old connection and drops the "
        "new options; `ray.shutdown()` first gives a fresh one.",
    ),
    zh=Words(
        "在已连接 Ray 的进程中又调用了 `ray.init`",
        '每个进程只有一个连接。第一次调用可能是隐式的:设置了 `distributed_executor_backend="ray"` 的 vLLM、某个库的启动'
        "过程、在 `ray.init` 之前的任何 `.remote()`(会自动连接),或重复运行的 notebook 单元。",
        "写成 `if not ray.is_initialized(): ray.init(...)`,并放在一切使用 Ray 的代码之前,使其选项生效"
        "。`ray.init(ignore_reinit_error=True)` 保留旧连接并忽略新选项;先调用 `ray.shutdown()` 则得到"
        "新连接。",
    ),
)

AT_ONCE = Message(
    en=Words(
        "Ray was initialised twice at the same time in one process, and Ray's core ended it",
        "Two threads called `ray.init` (or anything that connects by itself), or one connected while another's "
        "`ray.shutdown` was not through: neither saw the connection of the other yet, so nobody raised, and the core "
        "aborts. Frameworks that start servers or environments in threads come here.",
        "Connect once in the main thread, before threads and libraries are started: `ray.init(address='auto')`, and "
        "let the rest look with `ray.is_initialized()`. `pip install -U ray` on all nodes: releases after August 2025 "
        "lock both calls against each other.",
    ),
    zh=Words(
        "同一进程中同时两次初始化 Ray,Ray 的核心结束了该进程",
        "两个线程同时调用了 `ray.init`(或任何会自动连接的操作),或一个线程的 `ray.shutdown` 尚未完成时另一个又去连接:"
        "双方都还看不到对方的连接,因此没有异常,而核心直接中止进程。在线程中启动服务器或环境的框架会遇到。",
        "在启动线程和库之前,只在主线程中连接一次:`ray.init(address='auto')`,其余代码用 `ray.is_initialized()` 判断。"
        "在所有节点上 `pip install -U ray`:2025 年 8 月之后的版本会对这两个调用加锁。",
    ),
)


def explain(hits: Hits) -> Finding:
    """The check of the core is met where both calls run at once; Ray's own exception leaves nothing open."""
    if hits.first.signature == 1:
        return found(PROBLEM, AT_ONCE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED)

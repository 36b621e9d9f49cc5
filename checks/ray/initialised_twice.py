"""ray.init is called where Ray is connected already.

## What it means
A process has one connection to Ray. A library connected it (an engine of vLLM, veRL, OpenRLHF), or a notebook cell
ran twice, and the script calls `ray.init` again.
## What it does to a run
The call raises and the run ends.
## What to do
Connect once, before the libraries.
## How it is found
In a log, by Ray's error.
## References
https://docs.ray.io/en/latest/ray-core/api/doc/ray.init.html
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="RAY025", name="ray-initialised-twice", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:Maybe|Perhaps) you called ray\.init twice by accident\?",
    ),
)

LOG_CONFIDENCE = CONFIRMED

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
        '每个进程只有一个连接。第一次调用可能是隐式的:设置了 `distributed_executor_backend="ray"` 的 vLLM、'
        "某个库的启动过程、在 "
        "`ray.init` 之前的任何 `.remote()`(会自动连接),或重复运行的 notebook 单元。",
        "写成 `if not ray.is_initialized(): ray.init(...)`,并放在一切使用 Ray 的代码之前,使其选项生效"
        "。`ray.init(ignore_reinit_error=True)` 保留旧连接并忽略新选项;先调用 `ray.shutdown()` 则得到"
        "新连接。",
    ),
)

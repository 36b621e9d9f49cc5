"""An engine is started outside of the main thread of its process.

## What it means
SGLang's and vLLM's engines set signal handlers when they start their processes. Python allows that in the main thread
of the main interpreter only: not in thread pools, in the routes of a web server, or in an actor with threads.
## What it does to a run
The engine is not made.
## What to do
Make the engine in the main thread of a process of its own, or run it as a server.
## How it is found
In a log, by the words of Python, raised below the engine.
## References
https://docs.python.org/3/library/signal.html#signals-and-threads
https://github.com/sgl-project/sglang/issues/6723
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL105", name="engine-outside-main-thread", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"ValueError: signal only works in main thread", frame=r"sglang|vllm"),)

LOG_MESSAGE = Message(
    en=Words(
        "the engine was started outside of the main thread, and sets signal handlers",
        "Python allows `signal.signal` in the main thread of the main interpreter only. SGLang's `Engine` installs "
        "handlers when it starts its processes.",
        "Start it from the main thread (or in a process of its own: `multiprocessing` with spawn, a Ray actor "
        "without threads), or run `python -m sglang.launch_server` and send requests; newer releases skip the "
        "handlers in other threads.",
    ),
    zh=Words(
        "引擎在主线程之外启动,而它要设置信号处理函数",
        "Python 只允许在主解释器的主线程中调用 `signal.signal`。SGLang 的 `Engine` 启动其进程时会安装处理函数。",
        "从主线程启动(或放在独立进程中:`multiprocessing` 的 spawn、不带线程的 Ray actor),或运行 `python -m "
        "sglang.launch_server` 并发送请求;较新的版本在其他线程中会跳过这些处理函数。",
    ),
)

LOG_CONFIDENCE = LIKELY

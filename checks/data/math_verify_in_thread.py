"""math-verify runs outside the main thread, where every answer counts as wrong.

## What it means
math-verify guards `parse` and `verify` with SIGALRM, which Python allows only in the main thread. Reward
functions that score in a thread pool, in an asyncio executor or in a server's worker thread are outside it.
## What it does to a run
Each call raises ValueError; code that catches it scores 0, so all rewards are 0 and nothing is learned.
## What to do
Switch the time-out off (`parsing_timeout=None`, `timeout_seconds=None`, math-verify 0.8.0 and newer) or
score in processes instead of threads.
## How it is found
In a log: by the ValueError with a frame of math-verify, or by its own warning.
## References
https://github.com/huggingface/Math-Verify/blob/main/README.md
https://docs.python.org/3/library/signal.html#signals-and-threads
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import WARNING, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DAT021", name="math-verify-in-thread", severity=WARNING, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: signal only works in main thread", frame=r"/math_verify/"),
    Signature(r"ValueError: Math-Verify (?:'parse' function )?doesn't support threaded environment"),
)

LOG_MESSAGE = Message(
    en=Words(
        "math-verify was called outside the main thread {count} times, where it cannot work",
        "It sets a SIGALRM time-out, which Python allows only in the main thread of a process. In a "
        "thread each `parse` and `verify` raises; a reward function that catches this counts the answer as wrong, so "
        "that all rewards are 0.",
        "Upgrade to math-verify 0.8.0 or newer and call `parse(..., parsing_timeout=None)` and "
        "`verify(..., timeout_seconds=None)`, or score in a process pool with a time-out of your own "
        "instead of threads.",
    ),
    zh=Words(
        "math-verify 在主线程之外被调用了 {count} 次,而它在那里无法工作",
        "它用 SIGALRM 设置超时,而 Python 只允许在进程的主线程中这样做。在线程中每次 `parse` 和 `verify` "
        "都会抛出异常;捕获该异常的奖励函数会把答案计为错误,于是所有奖励都是 0。",
        "升级到 math-verify 0.8.0 或更新版本,并调用 `parse(..., parsing_timeout=None)` 和 `verify(..., "
        "timeout_seconds=None)`;或用带自定义超时的进程池代替线程来评分。",
    ),
)

"""Asynchronous code is run on an event loop that cannot run it.

## What it means
A loop of asyncio runs in one thread, one at a time, and what was made for one loop (a client, a lock, a task) cannot
be waited for on another. Rollouts and rewards mix threads, Ray's async actors, notebooks and `asyncio.run`.
## What it does to a run
The first call raises, or the first one after a loop was closed.
## What to do
Await inside of the running loop, or give each thread a loop of its own.
## How it is found
In a log: by asyncio's messages.
## References
https://docs.python.org/3/library/asyncio-runner.html
https://docs.python.org/3/library/asyncio-eventloop.html
https://docs.python.org/3/library/asyncio-dev.html#multithreading-and-asyncio
https://github.com/erdewit/nest_asyncio
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="PYT046", name="event-loop-misused", severity=ERROR, since="0.1")

RUNNING = Message(
    en=Words(
        "`asyncio.run` (or `run_until_complete`) is called where an event loop is running already",
        "The caller is itself asynchronous: a coroutine, an async actor of Ray, a handler of FastAPI, or a "
        "notebook, whose loop cannot be entered a second time.",
        "Await it instead: `result = await coroutine()`, and make the caller `async`. From a plain function "
        "inside of such a program run it in a thread of its own: "
        "`concurrent.futures.ThreadPoolExecutor().submit(asyncio.run, coroutine()).result()`. In notebooks "
        "`import nest_asyncio; nest_asyncio.apply()` (not with uvloop).",
    ),
    zh=Words(
        "在已有事件循环运行的地方调用了 `asyncio.run`(或 `run_until_complete`)",
        "调用者本身是异步的:协程、Ray 的 async actor、FastAPI 处理函数或 notebook,其循环不能再次进入。",
        "改为等待:`result = await coroutine()`,并把调用者写成 `async`。在这类程序的普通函数中放到单独线程运"
        "行:`concurrent.futures.ThreadPoolExecutor().submit(asyncio.run, coroutine()).result()`。notebook 中"
        "可 `import nest_asyncio; nest_asyncio.apply()`(不适用于 uvloop)。",
    ),
)
THREAD = Message(
    en=Words(
        "the thread `{thread}` has no event loop, and asynchronous code is to run in it",
        "Only the main thread had one made for it by `asyncio.get_event_loop()`, and from Python 3.12 on (3.14 "
        "for certain) not even that. Pools of threads for rewards and rollouts, and actors with "
        "`max_concurrency`, have none.",
        "`asyncio.run(coroutine())` in that thread instead of `get_event_loop().run_until_complete(...)`, or "
        "`loop = asyncio.new_event_loop(); asyncio.set_event_loop(loop)` at the thread's start. To use the main "
        "loop from a thread: `asyncio.run_coroutine_threadsafe(coroutine(), loop).result()`.",
    ),
    zh=Words(
        "线程 `{thread}` 没有事件循环,而异步代码要在其中运行",
        "`asyncio.get_event_loop()` 只会为主线程创建循环,Python 3.12 起(3.14 必然)连主线程也不再创建。奖励与"
        " rollout 的线程池、带 `max_concurrency` 的 actor 都没有。",
        "在该线程中用 `asyncio.run(coroutine())` 代替 `get_event_loop().run_until_complete(...)`,或在线程开"
        "始时 `loop = asyncio.new_event_loop(); asyncio.set_event_loop(loop)`。从线程使用主循环"
        ":`asyncio.run_coroutine_threadsafe(coroutine(), loop).result()`。",
    ),
)
OTHER = Message(
    en=Words(
        "something that belongs to one event loop is awaited on a different one",
        "A client, session, lock, queue or engine was made while another loop ran (at import, in another thread, "
        "in an earlier `asyncio.run`), and each of them stays with the loop it was made on.",
        "Make clients inside the coroutine that uses them (`async with AsyncOpenAI() as client`), one per loop, "
        "and call `asyncio.run(main())` once around everything instead of once per step. From another thread: "
        "`asyncio.run_coroutine_threadsafe(coroutine(), loop).result()`.",
    ),
    zh=Words(
        "属于某个事件循环的对象在另一个循环上被等待",
        "客户端、会话、锁、队列或引擎是在另一个循环运行时创建的(导入时、另一线程、先前的 `asyncio.run`),它们"
        "始终属于创建时的循环。",
        "在使用它们的协程内创建客户端(`async with AsyncOpenAI() as client`),每个循环一个,并只在最外层调用一"
        "次 `asyncio.run(main())`,而不是每步一次。跨线程用 `asyncio.run_coroutine_threadsafe(coroutine(), "
        "loop).result()`。",
    ),
)
CLOSED = Message(
    en=Words(
        "an event loop is used after it was closed",
        "`asyncio.run` closes its loop when it returns; a client or task that was made in it (an AsyncOpenAI "
        "client, an aiohttp session, a vLLM engine) is then used, or cleaned up, in a later one.",
        "Make the client anew inside each `asyncio.run`, or better run one loop for the whole program; close "
        "clients before it ends (`await client.close()`). Said only at the very end, by `__del__`, it is harmless.",
    ),
    zh=Words(
        "事件循环关闭后仍被使用",
        "`asyncio.run` 返回时会关闭循环;在其中创建的客户端或任务(AsyncOpenAI 客户端、aiohttp 会话、vLLM 引擎)"
        "之后又在别的循环中使用或清理。",
        "在每次 `asyncio.run` 内重新创建客户端,更好的做法是整个程序只用一个循环;结束前关闭客户端(`await "
        "client.close()`)。若只在最后由 `__del__` 打印,则无害。",
    ),
)
UVLOOP = Message(
    en=Words(
        "nest_asyncio cannot be used with the uvloop that runs here",
        "vLLM, SGLang and uvicorn install uvloop where it is present; nest_asyncio knows only Python's own loop.",
        "Take `nest_asyncio.apply()` out and await instead, or keep uvloop away: "
        "`asyncio.set_event_loop_policy(asyncio.DefaultEventLoopPolicy())` before the loop is made (`uvicorn "
        "--loop asyncio`).",
    ),
    zh=Words(
        "nest_asyncio 不能用于此处运行的 uvloop",
        "vLLM、SGLang 与 uvicorn 在有 uvloop 时会使用它,而 nest_asyncio 只支持 Python 自带的循环。",
        "去掉 `nest_asyncio.apply()` 改为 await,或不用 uvloop:在创建循环之前 "
        "`asyncio.set_event_loop_policy(asyncio.DefaultEventLoopPolicy())`(`uvicorn --loop asyncio`)。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(
            r"RuntimeError: (?:asyncio\.run\(\) cannot be called from a running event loop|This event loop is"
            r" already running|Cannot run the event loop while another loop is running)"
        ),
        RUNNING,
        CONFIRMED,
    ),
    (
        Signature(r"RuntimeError: There is no current event loop in thread '(?P<thread>[^'\n]{1,60})'"),
        THREAD,
        CONFIRMED,
    ),
    (
        Signature(r"attached to a different loop|is bound to a different event loop"),
        OTHER,
        CONFIRMED,
    ),
    (
        Signature(r"^RuntimeError: Event loop is closed", symptom_of=("VLL", "TRL", "RAY", "MEM", "CUD")),
        CLOSED,
        LIKELY,
    ),
    (
        Signature(r"ValueError: Can't patch loop of type <class 'uvloop\.Loop'>"),
        UVLOOP,
        CONFIRMED,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)

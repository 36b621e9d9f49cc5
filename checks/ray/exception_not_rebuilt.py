"""Ray could not hand on the exception of a remote call as what it was.

## What it means
Ray pickles an exception, and makes it again where the result is read. Some classes cannot be made again (pydantic's
ValidationError, exceptions whose constructor wants more than a message). Then only its text arrives, or not even that.
## What it does to a run
The run ends with an error that looks like one of Ray or pickle; the real one was printed by the worker.
## What to do
Read the worker's own traceback.
## How it is found
In a log: by Ray's warning, where the exception itself is not there.
## References
https://github.com/ray-project/ray/blob/master/python/ray/exceptions.py
https://github.com/IDEA-Research/Rex-Thinker/issues/14
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="RAY024", name="ray-exception-not-rebuilt", severity=WARNING, since="0.1")

SIGNATURES = (
    Signature(
        r"User exception type <class '(?P<type>[\w.]{1,150})'> in RayTaskError can't be subclassed",
        kind="warning",
        symptom_of=("*",),
    ),
    Signature(
        r"(?:Failed to unpickle serialized exception|ray\.exceptions\.UnserializableException)", symptom_of=("*",)
    ),
    # why it could not: the constructor wants more than what was kept
    Signature(
        r"^TypeError: (?P<type>\w{1,60}(?:Error|Exception|Timeout))\.__init__\(\) missing \d{1,2} required "
        r"(?:keyword-only|positional) arguments?:",
        symptom_of=("*",),
        frame=r"ray/exceptions\.py:from_ray_exception",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a remote call failed, and Ray could not pass its exception on{kind}",
        "The class cannot be made again from its pickle, so the driver sees less than the worker did. What is "
        "wrong with the call itself is not in these lines: for pydantic's ValidationError it is a value in a "
        "configuration or request that the receiving class refuses; for `APIStatusError` and its kin an answer of the "
        "API that was asked (400, 401, 429, 500).",
        "Read the worker's own output: its traceback in /tmp/ray/session_latest/logs (worker-*.err of that pid), "
        "or run with `RAY_DEDUP_LOGS=0` and look above this line. In code, `except ray.exceptions.RayTaskError as "
        "error: print(error.cause)` shows it.",
    ),
    zh=Words(
        "一次远程调用失败,而 Ray 无法传回其异常{kind_zh}",
        "该异常类无法从 pickle 重建,因此 driver 看到的比 worker 少。调用本身的错误不在这些行中:对 pydantic 的 "
        "ValidationError,是接收方的类拒绝了配置或请求中的某个值;对 `APIStatusError` 等,"
        "是所访问的 API 的回答(400、401、429、500)。",
        "查看 worker 自己的输出:/tmp/ray/session_latest/logs 中该 pid 的 worker-*.err,或设 `RAY_DEDUP_LOGS=0` 运行"
        "并查看此行上方。在代码中可用 `except ray.exceptions.RayTaskError as error: print(error.cause)` 查看。",
    ),
)


def explain(hits: Hits) -> Finding:
    """With the class of the exception, where Ray names it."""
    kind = hits.get("type")
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        kind=f" (`{kind}`)" if kind else "",
        kind_zh=f"(`{kind}`)" if kind else "",
    )

"""An exception was kept as the result of a request, and is now used as if it were the answer.

## What it means
Requests that run side by side are often gathered so that one failure does not end the others
(`asyncio.gather(..., return_exceptions=True)`, engines that put the error into the list of outputs). Whoever goes
through the results has to look for exceptions among them; here nobody did.
## What it does to a run
AttributeError or TypeError that names an exception as the object, and the real failure is not shown.
## What to do
Look at that exception first, then sort such results out.
## How it is found
In a log: by the name of the object's class.
## References
https://docs.python.org/3/library/asyncio-task.html#asyncio.gather
https://github.com/modelscope/ms-swift/issues/3207
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="RLX032", name="exception-taken-for-result", severity=ERROR, since="0.1")

_ERROR = r"'(?P<error>\w{0,40}(?:Error|Exception|Timeout|Disconnected))' object "

SIGNATURES = (
    Signature(rf"^AttributeError: {_ERROR}has no attribute '(?P<name>\w{{1,60}})'"),
    Signature(rf"^TypeError: {_ERROR}is not (?P<use>subscriptable|iterable|callable)"),
    Signature(r"^TypeError: object of type '(?P<error>\w{0,40}(?:Error|Exception|Timeout))' has no len\(\)"),
)

#: what a handler asks of the exception that it caught: a slip in a handler, not a result
_HANDLERS = re.compile(
    r"_?(?:message|msg|response|code|errno|status(?:_code)?|reason|body|detail|details|strerror|lineno|stderr|stdout"
    r"|output|returncode|cmd|headers|request|args|errors|error|text|json|retry_after|doc|pos|http_\w{1,20}|add_note"
    r"|with_traceback|exceptions|name|path|url|type|param)"
)

LOG_MESSAGE = Message(
    en=Words(
        "a request ended with `{error}`, and that was used as if it were its answer",
        "Failures were collected beside the answers (`asyncio.gather(..., return_exceptions=True)`, or an engine that "
        "hands errors back as outputs), and the code that reads them expects answers only. What really failed is the "
        "`{error}`, whose text is not shown.",
        "Print it: `print([repr(each) for each in results if isinstance(each, Exception)])`. For a request to a "
        "model or a judge that is the service, its limits or its address; an `OSError` is mostly an image or a file "
        "of a row that cannot be read. Then decide what such a row gets (another try, reward 0.0). In ms-swift: "
        "`--strict true`, and `pip install -U ms-swift`.",
    ),
    zh=Words(
        "某个请求以 `{error}` 结束,却被当作其回答使用",
        "失败与回答被收集在一起(`asyncio.gather(..., return_exceptions=True)`,或引擎把错误作为输出返回),而读取它们的"
        "代码只预期回答。真正的失败是 `{error}`,其内容没有显示。",
        "打印它:`print([repr(each) for each in results if isinstance(each, Exception)])`。对模型或评审的请求,原因在于"
        "服务、其限额或地址;`OSError` 多为某行的图像或文件无法读取。之后决定这类样本如何处理(重试,或奖励 0.0)"
        "。ms-swift:`--strict true`,并 `pip install -U ms-swift`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Not where a handler asks the exception that it has just caught for something that it lacks."""
    first = hits.first
    if _HANDLERS.fullmatch(first.groups.get("name") or ""):
        return None
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        error=first.groups["error"],
    )

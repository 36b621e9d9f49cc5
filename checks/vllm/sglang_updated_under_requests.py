"""SGLang got new weights while requests were running.

## What it means
After new weights the cache of keys and values has to be emptied, for its content belongs to the old ones. SGLang
cannot empty it while requests run.
## What it does to a run
The scheduler of the server ends, and with it the rollout.
## What to do
Pause generation, or abort or await all requests, before weights are sent.
## How it is found
In a log, by the assertion of SGLang's scheduler.
## References
https://github.com/areal-project/AReaL/issues/140
https://github.com/sgl-project/sglang/issues/12099
https://github.com/sgl-project/sglang/issues/14062
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL080", name="sglang-updated-under-requests", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"AssertionError: Cache flush failed after updating weights",
    ),
    Signature(
        r"Cache not flushed because there are pending requests\. #queue-req: (?P<queued>\d{1,9}), #r"
        r"unning-req: (?P<running>\d{1,9})",
        kind="sign",
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "SGLang got new weights while requests were still running",
        "The cache of the old weights must be emptied after an update, and it cannot be while requests use "
        "it. An asynchronous trainer that sends weights without a pause, requests of another client "
        "(evaluation, a judge), or one that came between the pause and the update lead here. Some releases "
        "also take requests that have just ended for running ones.",
        "Pause the server before the update (`pause_generation`, then `continue_generation`) or abort all "
        "requests, and wait until none runs; let no other client use this server. Upgrade SGLang. Where an "
        "answer may be finished with two sets of weights (partial rollouts) send the update with "
        "`flush_cache=False`.",
    ),
    zh=Words(
        "SGLang 在请求仍在运行时收到了新权重",
        "更新后必须清空旧权重的缓存,而请求使用期间无法清空。异步训练器未暂停就发送权重、其他客户端(评"
        "估、评判)的请求,或在暂停与更新之间到达的请求都会如此。部分版本还会把刚结束的请求当作仍在运行"
        "。",
        "更新前先暂停服务器(`pause_generation`,之后 `continue_generation`)或中止全部请求,并等到没有请"
        "求运行;不要让其他客户端使用该服务器。升级 SGLang。若允许一个回答跨两组权重完成(partial rollo"
        "ut),更新时用 `flush_cache=False`。",
    ),
)

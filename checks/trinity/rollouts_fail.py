"""The rollouts of a batch fail, so the trainer gets no or too few experiences.

## What it means
Each workflow run raised an exception or timed out; the explorer goes on, and the buffer stays short.
## What it does to a run
The trainer waits, reads an incomplete batch, or skips the step.
## What to do
Look at the exception of the workflow.
## How it is found
Trinity-RFT's and ART's own words.
## References
https://github.com/modelscope/Trinity-RFT
https://github.com/OpenPipe/ART
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRI010", name="trinity-rollouts-fail", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"TimeoutError: Read incomplete batch \((?P<got>\d{1,9})/(?P<wanted>\d{1,9})\), please"
        r" check your workflow"
    ),
    Signature(
        r"gather: [^\n]{0,120}?\b0/(?P<runs>\d{1,6}) \[[^\n]{0,60}?exceptions=(?P<failed>\d{1,6})\]", kind="warning"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "rollouts end in exceptions or too late: {numbers}",
        "The training loop got too few trajectories, because the rollout (workflow) function raised "
        "or exceeded its time-out. Words about equal rewards or missing data afterwards only follow "
        "from that.",
        "Look at the exception that the rollout function raises and fix it (print the traceback in "
        "the function, or let it through: `max_exceptions=0` in ART's `gather_trajectories`; in "
        "Trinity-RFT read the explorer's log of the runner, try `trinity debug`, and raise "
        "`explorer.max_timeout`).",
    ),
    zh=Words(
        "rollout 以异常结束或超时:{numbers}",
        "训练循环得到的轨迹不足,因为 rollout(workflow)函数抛出异常或超时。之后关于奖励相同或缺少数据的提示只是后果。",
        "查看 rollout 函数抛出的异常并修复(在函数中打印 traceback,或不再吞掉:ART 的 "
        "`gather_trajectories` 设 `max_exceptions=0`;Trinity-RFT 中查看 explorer 的 runner 日志,使用 "
        "`trinity debug`,并提高 `explorer.max_timeout`)。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """A few exceptions are normal; the whole group is not."""
    if got := hits.get("got"):
        numbers = f"{got} of {hits.get('wanted')}"
        return found(
            PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, numbers=numbers
        )
    lost = next((hit for hit in hits.of(1) if int(hit.groups["failed"]) >= int(hit.groups["runs"])), None)
    if lost is None:
        return None
    numbers = f"{lost.groups['failed']} of {lost.groups['runs']}"
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), numbers=numbers, confidence=LIKELY)

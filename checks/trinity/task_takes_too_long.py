"""Rollout tasks of Trinity-RFT are given up because they take too long.

## What it means
The scheduler of the explorer gives each task `explorer.max_timeout` seconds. Long answers, many repeats a task,
tools that wait, or an engine with more requests than it can serve exceed it.
## What it does to a run
The tasks are tried again and then lost; batches come late or incomplete, and the trainer waits.
## What to do
More time, shorter answers, or more engines.
## How it is found
In a log, by the message that the program prints.
## References
https://agentscope-ai.github.io/Trinity-RFT/en/main/tutorial/trinity_configs.html
https://github.com/agentscope-ai/Trinity-RFT/issues/403
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import WARNING, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRI013", name="trinity-task-takes-too-long", severity=WARNING, since="0.1")

SIGNATURES = (
    Signature(
        r"Timeout when running task of batch \S{1,20} at runner (?P<runner>\d{1,6}) at attempt"
        r" (?P<attempt>\d{1,4})",
        kind="warning",
        contributes_to=("TRI010",),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "rollout tasks of Trinity-RFT run into their time-out",
        "A runner did not finish its task within `explorer.max_timeout`. The usual reasons: long answers "
        "(`max_response_tokens`) times `repeat_times`, more runners than the engines can serve, so that "
        "requests queue, tools or rewards that wait for a network, or an engine that hangs.",
        "Raise `explorer.max_timeout` (seconds), lower `max_response_tokens` or `repeat_times`, and fit "
        "the load to the engines: fewer `explorer.runner_per_model`, more "
        "`explorer.rollout_model.engine_num`. If every task times out, look at the log of the engines "
        "first: one that is dead or out of KV cache answers nobody.",
    ),
    zh=Words(
        "Trinity-RFT 的 rollout 任务超时",
        "某个 runner 未能在 `explorer.max_timeout` 内完成任务。常见原因:长回答(`max_response_tokens`)乘以"
        " `repeat_times`;runner 多于引擎所能服务,请求排队;工具或奖励在等待网络;或引擎挂起。",
        "提高 `explorer.max_timeout`(秒),减小 `max_response_tokens` 或 `repeat_times`,并使负载与引擎相配:"
        "减少 `explorer.runner_per_model`,增加 `explorer.rollout_model.engine_num`。若所有任务都超时,请先"
        "查看引擎日志:已退出或 KV cache 不足的引擎不会应答。",
    ),
)

LOG_CONFIDENCE = LIKELY

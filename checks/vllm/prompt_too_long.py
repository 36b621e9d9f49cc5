"""A request is longer than the server's max_model_len.

## What it means
Prompt and completion share `max_model_len`. A request that asks for more is refused; the server goes on.
## What it does to a run
The trainer's client raises, or the rollout of that prompt is lost.
## What to do
Raise the limit, or ask for less.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/configuration/engine_args/
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL041", name="prompt-too-long", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"This model's maximum context length is (?P<most>\d{1,9}) tokens\. However, (?:you"
        r" requested|your (?:prompt|request)(?: contains| has)?)(?: at least)? (?P<asked>\d{1,9})(?! output tokens)\b",
    ),
    Signature(
        r"This model's maximum context length is (?P<most>\d{1,9}) tokens\. However, you requested \d{1,9} output"
        r" tokens and your (?:prompt|request) (?:contains|has)(?: at least)? \d{1,9} input tokens, for a total of"
        r"(?: at least)? (?P<asked>\d{1,9})",
    ),
    Signature(
        r"prompt \(length (?P<asked>\d{1,9})\) (?:plus the number of requested output tokens \(at"
        r" least 1\) )?is longer than the maximum model length of (?P<most>\d{1,9})",
    ),
    Signature(
        r"Prompt length \((?P<asked>\d{1,9})\) leaves no room to generate within the model's maximum context"
        r" length \((?P<most>\d{1,9})\)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a request of {asked} tokens was sent to a vLLM that takes {most}",
        "`max_model_len` holds prompt and completion together, chat template and image tokens included. "
        "The server or rollout engine was started with less than the longest prompt plus "
        "`max_completion_length` (`max_tokens`).",
        "Start it with a larger `--max-model-len` (`vllm_max_model_length` in TRL; "
        "`rollout.max_model_len`, or `data.max_prompt_length` plus `data.max_response_length`, in veRL), "
        "lower `max_completion_length`, or drop overlong prompts from the dataset "
        "(`data.filter_overlong_prompts=True`).",
    ),
    zh=Words(
        "向最多接受 {most} token 的 vLLM 发送了 {asked} token 的请求",
        "`max_model_len` 同时容纳 prompt 与生成,包括聊天模板和图像 token。服务器或 rollout 引擎启动时的值"
        "小于最长 prompt 加 `max_completion_length`(`max_tokens`)。",
        "用更大的 `--max-model-len` 启动(TRL 为 `vllm_max_model_length`;veRL 为 `rollout.max_model_len`,"
        "或 `data.max_prompt_length` 加 `data.max_response_length`),减小 `max_completion_length`,或从数据"
        "集中去掉过长的 prompt(`data.filter_overlong_prompts=True`)。",
    ),
)

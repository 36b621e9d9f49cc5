"""Prompts are longer than the engine inside of the trainer takes, so their completions are empty.

## What it means
vLLM (engine V0) warns that a prompt is too long and returns nothing for it. The trainer goes on with completions of
length zero.
## What it does to a run
IndexError or a size mismatch where the trainer looks for the end of each completion.
## What to do
Give the engine room for the longest prompt and completion, or drop such prompts.
## How it is found
In a log: by vLLM's warning with both numbers, beside the trainer's exception.
## References
https://github.com/unslothai/unsloth/issues/1642
https://github.com/unslothai/unsloth/issues/1817
https://github.com/vllm-project/vllm/blob/v0.7.2/vllm/core/scheduler.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRL056", name="prompts-beyond-engine", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"^IndexError: argmax\(\): Expected reduction dim \d to have non-zero size", frame=r"GRPOTrainer|grpo_"),
    Signature(
        r"Input prompt \((?P<length>\d{1,9}) tokens\) is too long and exceeds (?:limit|the capacity) of "
        r"(?P<limit>\d{1,9})",
        kind="sign",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a prompt of {length} tokens got no completion: the engine takes {limit}",
        "vLLM drops prompts beyond its limit with a warning; the trainer then looks for the end of completions that "
        "have no tokens.",
        "Raise `max_seq_length` (Unsloth) or `vllm_max_model_length` above the longest prompt plus "
        "`max_completion_length`, or filter the dataset by the tokenized length of `prompt` before training.",
    ),
    zh=Words(
        "一个 {length} token 的提示没有得到回答:引擎最多接受 {limit}",
        "vLLM 对超过上限的提示只发出警告并丢弃;训练器随后在没有 token 的回答中寻找结尾。",
        "把 `max_seq_length`(Unsloth)或 `vllm_max_model_length` 提高到最长提示加 `max_completion_length` 以上,"
        "或在训练前按 `prompt` 的 token 数过滤数据集。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only both together: the warning alone is harmless, the exception alone has other causes."""
    if not (hits.of(0) and hits.of(1)):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        length=hits.get("length"), limit=hits.get("limit"),
    )  # fmt: skip

"""A reward function returns another number of rewards than there are completions.

## What it means
GRPO hands all completions of a batch to each reward function and wants one number for each, in order. A
function that skips completions (`continue`, a filter) or returns one number for all breaks that.
## What it does to a run
TRL 1.10 and newer raise a ValueError with both numbers; before, torch cannot fit the shorter list into the
column and raises a RuntimeError, or spreads a list of one over all completions without a word.
## What to do
Return exactly one entry per completion: 0.0 where nothing was found, `None` where the function does not
apply (TRL 0.17 and newer).
## How it is found
In a log: by the exception that the trainer raises when it stores the rewards.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
https://github.com/huggingface/trl/issues/6533
"""

from __future__ import annotations

from doctor.checks.data._logged import CALLS_REWARDS, by_trainer
from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT013", name="reward-count-differs", severity=ERROR, since="0.1", affects={"trl": ">=0.14"})

SIGNATURES = (
    Signature(
        r"ValueError: The reward function '(?P<function>[^'\n]{1,80})' returned (?P<got>\d{1,9})"
        r" rewards, but (?P<wanted>\d{1,9}) were expected",
    ),
    Signature(
        r"^RuntimeError: The expanded size of the tensor \((?P<wanted>\d{1,9})\) must match the"
        r" existing size \((?P<got>\d{1,9})\) at non-singleton dimension 0",
        frame=CALLS_REWARDS,
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "reward function `{function}` returned {got} rewards for {wanted} completions",
        "TRL wants exactly one reward per completion, in order. A function that skips completions with "
        "`continue`, or filters them, returns too few.",
        "Return one entry for every completion: append 0.0, or `None` where the function does not apply "
        "(TRL 0.17 and newer), instead of skipping it.",
    ),
    zh=Words(
        "奖励函数 `{function}` 对 {wanted} 条生成返回了 {got} 个奖励",
        "TRL 要求按顺序为每条生成恰好返回一个奖励。用 `continue` 跳过或过滤生成的函数会返回过少。",
        "为每条生成返回一项:不要跳过,而是加入 0.0,或在函数不适用时加入 `None`(TRL 0.17 及以上)。",
    ),
)

LOG_MESSAGE_UNNAMED = Message(
    en=Words(
        "a reward function returned {got} rewards for {wanted} completions",
        "TRL wants exactly one reward per completion, in order. A function that skips completions with "
        "`continue`, or filters them, returns too few.",
        "Return one entry for every completion: append 0.0, or `None` where the function does not apply "
        "(TRL 0.17 and newer), instead of skipping it.",
    ),
    zh=Words(
        "某个奖励函数对 {wanted} 条生成返回了 {got} 个奖励",
        "TRL 要求按顺序为每条生成恰好返回一个奖励。用 `continue` 跳过或过滤生成的函数会返回过少。",
        "为每条生成返回一项:不要跳过,而是加入 0.0,或在函数不适用时加入 `None`(TRL 0.17 及以上)。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Take the numbers from the exception; before 1.10 only where the trainer's own frame raised."""
    named = hits.of(0)
    raised = named or by_trainer(hits)
    if not raised:
        return None
    groups = raised[0].groups
    return found(
        PROBLEM,
        LOG_MESSAGE if named else LOG_MESSAGE_UNNAMED,
        where=hits.where(),
        evidence=hits.evidence(),
        function=groups.get("function"),
        got=groups["got"],
        wanted=groups["wanted"],
    )

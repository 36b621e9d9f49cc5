"""There are not as many reward weights as reward functions.

## What it means
`reward_weights` gives one weight to each function of `reward_funcs`, in the same order.
## What it does to a run
The trainer raises a ValueError after the model was loaded.
## What to do
Give one weight for each reward function.
## How it is found
The list that is set and the list in the trainer's call are counted.
In a log: by TRL's own exception.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
https://huggingface.co/docs/trl/grpo_trainer
"""

from __future__ import annotations

import ast

from doctor.checks.trl._helpers import is_grpo, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.base import Setting
from doctor.facts.training import Training

PROBLEM = Problem(id="TRL031", name="reward-weights-length", severity=ERROR, since="0.1", affects={"trl": ">=0.15"})

SIGNATURES = (
    Signature(
        r"ValueError: Number of reward weights \((?P<weights>\d{1,4})\) must match number of reward"
        r" functions \((?P<functions>\d{1,4})\)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "{weights} reward weights for {functions} reward functions",
        "TRL wants one weight for each function and stops when the trainer is built.",
        "Give `reward_weights` {functions} numbers, in the order of `reward_funcs`, or take it out for equal weights.",
    ),
    zh=Words(
        "{functions} 个奖励函数对应 {weights} 个奖励权重",
        "TRL 要求每个函数对应一个权重,构建训练器时停止。",
        "按 `reward_funcs` 的顺序给 `reward_weights` {functions} 个数;若权重相同则删除它。",
    ),
)

MESSAGE = Message(
    en=Words(
        "{weights} reward weights for {functions} reward functions",
        "TRL wants one weight for each function and raises a ValueError when the trainer is built.",
        "Give `reward_weights` {functions} numbers, in the order of `reward_funcs`.",
    ),
    zh=Words(
        "{functions} 个奖励函数对应 {weights} 个奖励权重",
        "TRL 要求每个函数对应一个权重,构建训练器时会抛出 ValueError。",
        "按 `reward_funcs` 的顺序给 `reward_weights` {functions} 个数。",
    ),
)


def _count(setting: Setting) -> int | None:
    """Count the elements of a list as it is written; a single object counts as one."""
    if setting.known and isinstance(setting.value, (list, tuple)):
        return len(setting.value)
    try:
        node = ast.parse(setting.text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    if not isinstance(node, (ast.List, ast.Tuple)) or any(isinstance(each, ast.Starred) for each in node.elts):
        return None
    return len(node.elts)


@check(PROBLEM)
def reward_weights_length(training: Training) -> Judgement:
    """Count both lists where both are written out."""
    weights, functions = training.get("reward_weights"), training.trainer_arguments.get("reward_funcs")
    if not is_grpo(training) or weights is None or functions is None or (weights.known and weights.value is None):
        return
    given, wanted = _count(weights), _count(functions)
    if given is None or wanted is None:
        yield Skip("`reward_weights` or `reward_funcs` could not be counted without running the script")
        return
    if given != wanted:
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(weights, functions),
            evidence=quoted(weights, functions),
            weights=given,
            functions=wanted,
        )

"""A function was handed over where TRL's PPO wants a reward model.

## What it means
`PPOTrainer` calls its reward model's layers. Python functions as rewards are what GRPO and RLOO take (`reward_funcs`).
## What it does to a run
AttributeError when the trainer is made.
## What to do
Hand over a model, or use GRPO.
## How it is found
In a log: by what a function is asked for, inside TRL.
## References
https://github.com/huggingface/trl/issues/2273
https://huggingface.co/docs/trl/ppo_trainer
https://huggingface.co/docs/trl/grpo_trainer#using-a-custom-reward-function
"""

from __future__ import annotations

import re

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRL065", name="function-where-model-expected", severity=ERROR, since="0.1")

#: files in which TRL handles its models; reward functions run below those of GRPO
_TRL = r"trl[\\/](?:trainer|experimental|models)[\\/](?!\S*(?:grpo|rloo))"

SIGNATURES = (
    Signature(
        r"^AttributeError: '(?P<given>function|method|builtin_function_or_method|functools\.partial)' object has no "
        r"attribute "
        r"'(?P<name>modules|eval|to|base_model_prefix|config|parameters|score|train|device)'",
        frame=_TRL,
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a function was given to TRL where it wants a model as reward (it asks for `{name}`)",
        "The PPO of TRL runs the reward model's layers, so a Python function does not do. GRPO and RLOO "
        "take functions.",
        "For PPO load one: `reward_model=AutoModelForSequenceClassification.from_pretrained(NAME, "
        "num_labels=1)`, and the same for `value_model`. To score with a Python function take "
        "`GRPOTrainer(model=..., reward_funcs=my_reward, ...)`, or `RLOOTrainer`.",
    ),
    zh=Words(
        "在 TRL 需要奖励模型的地方传入了函数(它要求 `{name}`)",
        "TRL 的 PPO 会运行奖励模型的各层,因此 Python 函数不行。GRPO 和 RLOO 接受函数。",
        "PPO 请加载模型:`reward_model=AutoModelForSequenceClassification.from_pretrained(NAME, "
        "num_labels=1)`,`value_model` 同理。要用 Python 函数打分,使用 `GRPOTrainer(model=..., "
        "reward_funcs=my_reward, ...)` 或 `RLOOTrainer`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only where TRL itself asked; what a function of the user asks for is another matter."""
    if not re.search(_TRL, hits.first.frames[-1]):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), name=hits.first.groups["name"]
    )  # fmt: skip

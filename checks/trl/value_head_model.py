"""A model with a value head was handed to a trainer that wants a plain one.

## What it means
`AutoModelForCausalLMWithValueHead` wraps a model for the PPO of older TRL. GRPO, RLOO, SFT and DPO, and the PPO of
0.12 and newer, use attributes of a plain Transformers model (`warnings_issued`, `generation_config`,
`base_model_prefix`, `config`) that the wrapper does not hand on.
## What it does to a run
AttributeError while the trainer is made.
## What to do
Hand over the plain model.
## How it is found
In a log: by the exception about the wrapper class.
## References
https://github.com/huggingface/trl/issues/3257
https://huggingface.co/docs/trl/grpo_trainer
https://github.com/huggingface/trl/releases/tag/v0.12.0
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRL058", name="value-head-model", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^AttributeError: '(?P<model>AutoModelFor\w{1,40}WithValueHead)' object has no attribute '(?P<name>\w{1,80})'",
        frame=r"trl[\\/](?:trainer|experimental|models)[\\/]",
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "the trainer was handed `{model}`, which has no `{name}`",
        "The wrapper with a value head belongs to TRL's old PPO. GRPO has no value function, and the PPO of TRL "
        "0.12 and newer takes the value model as a model of its own.",
        "Hand over the plain model: `AutoModelForCausalLM.from_pretrained(...)`, or its name as a string. For PPO "
        "pass `value_model=AutoModelForSequenceClassification.from_pretrained(..., num_labels=1)`; a script written "
        "for the old PPO needs `pip install 'trl<0.12'`.",
    ),
    zh=Words(
        "交给训练器的是 `{model}`,它没有 `{name}`",
        "带价值头的包装属于 TRL 旧版 PPO。GRPO 没有价值函数;TRL 0.12 及以上的 PPO 把价值模型作为单独的模型接收。",
        "传入普通模型:`AutoModelForCausalLM.from_pretrained(...)`,或其名称字符串。PPO 请传入 "
        "`value_model=AutoModelForSequenceClassification.from_pretrained(..., num_labels=1)`;为旧版 PPO 编写的脚本需要 "
        "`pip install 'trl<0.12'`。",
    ),
)

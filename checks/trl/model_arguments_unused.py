"""Arguments for loading the model meet a model that is loaded already.

## What it means
`model_init_kwargs` (and `quantization_config` beside it) are for a model that is given by name; the trainer
cannot apply them to an object.
## What it does to a run
The trainer raises ValueError when it is built.
## What to do
Give the name of the model, or apply the arguments in your own `from_pretrained`.
## How it is found
In a log: by TRL's own exception.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
https://huggingface.co/docs/trl/grpo_trainer
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRL042", name="model-arguments-unused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: You passed `model_init_kwargs` to the `\w{1,40}`, but your model is already"
        r" instantiated",
    ),
    Signature(
        r"ValueError: You set `quantization_config` both as a trainer argument and in"
        r" `args\.model_init_kwargs`",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`model_init_kwargs` was set for a loaded model, or a setting was given twice",
        "The trainer applies these arguments when it loads a model by name itself; here it got an "
        "object, or `quantization_config` in two places.",
        "Pass the model's name or path instead of the object, or take `model_init_kwargs` out and put "
        "its contents into your own `from_pretrained(...)`; give `quantization_config` in one place.",
    ),
    zh=Words(
        "为已加载的模型设置了 `model_init_kwargs`,或某项设置给出了两次",
        "训练器只在自己按名称加载模型时使用这些参数;这里它得到的是对象,或在两处给出了 `quantization_config`。",
        "传入模型名称或路径而不是对象,或去掉 `model_init_kwargs` 并把其内容放进自己的 "
        "`from_pretrained(...)`;`quantization_config` 只在一处给出。",
    ),
)

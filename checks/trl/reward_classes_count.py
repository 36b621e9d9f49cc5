"""There are not as many reward processing classes as reward functions.

## What it means
`reward_processing_classes` gives the tokenizer of each reward model, in the order of `reward_funcs`, with
None for plain functions.
## What it does to a run
The trainer raises ValueError when it is built.
## What to do
Give one entry per reward function, or leave the argument out.
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

PROBLEM = Problem(id="TRL043", name="reward-processing-classes", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: The number of reward processing classes(?: \((?P<classes>\d{1,4})\))? must"
        r" match the number of reward functions(?: \((?P<functions>\d{1,4})\))?",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`reward_processing_classes` has not one entry for each reward function",
        "TRL pairs the two lists by their order: a tokenizer for a reward model, None for a Python function.",
        "Make it a list as long as `reward_funcs`, with `None` for functions, or leave it out: TRL loads "
        "the tokenizer of each reward model by itself.",
    ),
    zh=Words(
        "`reward_processing_classes` 没有为每个奖励函数提供一项",
        "TRL 按顺序配对这两个列表:奖励模型对应分词器,Python 函数对应 None。",
        "使其长度与 `reward_funcs` 相同,函数对应 `None`;或省略它:TRL 会自行加载每个奖励模型的分词器。",
    ),
)

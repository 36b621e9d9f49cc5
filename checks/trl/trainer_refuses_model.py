"""A TRL trainer refuses its model: the policy as its own reference, or a head with several outputs.

## What it means
A reference must not change with the policy, so it cannot be the same object; a reward model gives one number a
sequence.
## What it does to a run
ValueError when the trainer is made.
## What to do
As the finding says.
## How it is found
In a log: by TRL's own words.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/dpo_trainer.py
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/reward_trainer.py
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TRL071", name="trainer-refuses-model", severity=ERROR, since="0.1")

#: (pattern, frame of its traceback, what is said of it)
CASES = (
    (
        r"ValueError: `model` and `ref_model` cannot be the same object",
        "",
        Message(
            en=Words(
                "the model is given as its own reference (`ref_model`)",
                "The reference has to stay as it was while the policy learns; the same object would follow it, and "
                "the loss would compare the model with itself.",
                "Leave `ref_model` out: the trainer makes a copy (and with a LoRA adapter uses the base model). A "
                "reference of your own is loaded anew: `AutoModelForCausalLM.from_pretrained(...)`.",
            ),
            zh=Words(
                "模型被当作它自己的参考模型(`ref_model`)",
                "策略学习时参考模型必须保持不变;同一个对象会随之改变,损失就成了模型与自身的比较。",
                "不要传 `ref_model`:训练器会自行复制(使用 LoRA 适配器时以基座模型为参考)。自己的参考模型要重新加载"
                ":`AutoModelForCausalLM.from_pretrained(...)`。",
            ),
        ),
    ),
    (
        (
            r"ValueError: The model has `num_labels=(?P<labels>\d{1,6})`, but reward models require `n"
            r"um_labels=1`"
        ),
        "",
        Message(
            en=Words(
                "the reward model has {labels} outputs and needs one",
                "A reward is one number a sequence; a model loaded without `num_labels=1` (2 is the default of "
                "Transformers), or one for language modelling, gives another shape.",
                "Pass the model's name to `RewardTrainer`, which then sets it up, or load it with "
                "`AutoModelForSequenceClassification.from_pretrained(NAME, num_labels=1)`.",
            ),
            zh=Words(
                "奖励模型有 {labels} 个输出,而只应有一个",
                "奖励是每个序列一个数;加载时没有 `num_labels=1`(Transformers 默认为 2)的模型,或语言模型,输出形状不同。",
                "把模型名称传给 `RewardTrainer`,由它设置;或用 "
                "`AutoModelForSequenceClassification.from_pretrained(NAME, num_labels=1)` 加载。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern, frame=frame) for pattern, frame, _ in CASES)


def explain(hits: Hits) -> Finding:
    """What the first hit's own case says."""
    return finding_of_case(PROBLEM, [(pattern, message) for pattern, _, message in CASES], hits)

"""The trainer gets a model that has an adapter, and a `peft_config` for another one.

## What it means
TRL adds an adapter by itself where `peft_config` is given; a model that came out of `get_peft_model` or
`PeftModel.from_pretrained` has one already.
## What it does to a run
TRL 0.27 and newer raise ValueError when the trainer is built; older releases stack the adapters or train
the wrong one.
## What to do
Pass either the plain model with `peft_config`, or the `PeftModel` alone.
## How it is found
In a log: by TRL's own exception.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
https://huggingface.co/docs/trl/peft_integration
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="PFT008", name="adapter-twice", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"ValueError: You passed a `PeftModel` instance together with a `peft_config` to the trainer"),)

LOG_MESSAGE = Message(
    en=Words(
        "the model has an adapter already, and `peft_config` asks for another one",
        "The trainer makes the adapter itself where `peft_config` is given; a `PeftModel` brings one along.",
        "Leave `peft_config` out to go on training the adapter that is there, or pass the plain base "
        "model: `model = model.merge_and_unload()` bakes the old adapter in first.",
    ),
    zh=Words(
        "模型已有适配器,而 `peft_config` 又要求另一个",
        "给出 `peft_config` 时训练器会自行创建适配器;`PeftModel` 则自带一个。",
        "若要继续训练已有的适配器,去掉 `peft_config`;或传入普通的基座模型:`model = "
        "model.merge_and_unload()` 可先把旧适配器合并进去。",
    ),
)

"""A reference model was passed together with an adapter configuration.

## What it means
With a LoRA adapter the reference is the base model itself with the adapter switched off, so that DPO, KTO and
the like need no second copy and refuse one.
## What it does to a run
The trainer raises ValueError when it is made, after both models were loaded.
## What to do
Pass no reference model.
## How it is found
In a log: by TRL's exception.
## References
https://huggingface.co/docs/trl/dpo_trainer#reference-model-considerations-with-peft
https://github.com/shibing624/MedicalGPT/issues/334
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRL048", name="reference-model-beside-adapter", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"ValueError: You passed both (?:a )?`?ref_model`? and (?:a )?`?peft_config`?"),)


LOG_MESSAGE = Message(
    en=Words(
        "`ref_model` was passed together with `peft_config`",
        "With an adapter the trainer takes the base model, adapter switched off, as its "
        "reference; a second model is refused.",
        "Set `ref_model=None` and keep `peft_config` (it saves the memory of one model). Where "
        "another reference is really meant, merge the adapter first, or set "
        "`force_use_ref_model=True` in the trainers that have it.",
    ),
    zh=Words(
        "同时传入了 `ref_model` 和 `peft_config`",
        "使用适配器时,训练器以关闭适配器的基座模型作为参考模型,拒绝第二个模型。",
        "设置 `ref_model=None` 并保留 `peft_config`(可省下一个模型的显存)。"
        "若确实需要另一个参考模型,先合并适配器,或在支持的训练器中设 `force_use_ref_model=True`。",
    ),
)

"""The reference model is to be loaded by a name that the model does not have.

## What it means
With `beta` above 0 the trainer loads a second copy of the model by the name in its configuration. A model
that was built in memory has an empty name.
## What it does to a run
The trainer raises OSError about a repository's name, which is empty.
## What to do
Save the model and load it from the folder, or train with `beta=0.0`.
## How it is found
In a log: by the empty name.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
https://huggingface.co/docs/trl/grpo_trainer
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRL037", name="reference-of-unnamed-model", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:OSError|HFValidationError): Repo id must use alphanumeric chars[^\n]{1,120}: ''",
        frame=r"trl/trainer/|transformers/utils/hub\.py:",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a model without a name was to be loaded again, as the reference for the KL term",
        "`beta` above 0 needs a reference model, which TRL loads by `model.config._name_or_path`; the "
        "model was built in memory, so that is empty and the Hub refuses it.",
        "Save it first, `model.save_pretrained(DIR)`, and pass `DIR` as the model; or set `beta=0.0`, or "
        "train a LoRA adapter, where the base model itself is the reference.",
    ),
    zh=Words(
        "要按名称再次加载一个没有名称的模型,作为 KL 项的参考",
        "`beta` 大于 0 时需要参考模型,TRL 按 `model.config._name_or_path` 加载;该模型是在内存中构建的,名"
        "称为空,Hub 拒绝。",
        "先保存 `model.save_pretrained(DIR)`,再把 `DIR` 作为模型传入;或设置 `beta=0.0`;或训练 LoRA 适配器"
        ",此时基座模型本身就是参考。",
    ),
)

LOG_CONFIDENCE = LIKELY

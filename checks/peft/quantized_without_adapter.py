"""A quantized model is to be trained without an adapter.

## What it means
The weights of a 4-bit or 8-bit model are packed integers without gradients; only adapters on top of them
can be trained.
## What it does to a run
The Trainer raises ValueError when it is built.
## What to do
Give a `peft_config`, or load the model in bf16.
## How it is found
In a log: by the exception of the Trainer.
## References
https://huggingface.co/docs/transformers/peft
https://github.com/huggingface/transformers/blob/v4.53.2/src/transformers/trainer.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="PFT009", name="quantized-without-adapter", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"ValueError: You cannot perform fine-tuning on purely quantized models"),)

LOG_MESSAGE = Message(
    en=Words(
        "the model is quantized (4-bit or 8-bit) and has no trainable adapter",
        "Packed integer weights have no gradients, so the Trainer refuses to fine-tune them alone.",
        "Pass `peft_config=LoraConfig(...)` to the trainer (in TRL's scripts `--use_peft`), or load the "
        "model without `quantization_config`, in bf16.",
    ),
    zh=Words(
        "模型已量化(4-bit 或 8-bit)且没有可训练的适配器",
        "打包的整数权重没有梯度,因此 Trainer 拒绝单独微调它们。",
        "向训练器传入 `peft_config=LoraConfig(...)`(TRL 脚本中为 `--use_peft`),或不用 "
        "`quantization_config` 而以 bf16 加载模型。",
    ),
)

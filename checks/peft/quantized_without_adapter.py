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

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PFT009", name="quantized-without-adapter", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: You cannot perform fine-tuning on purely quantized models"),
    Signature(
        r"RuntimeError: (?P<integers>[Oo]nly Tensors of floating point (?:and complex )?dtype can require gradients)",
        symptom_of=("FSD010",),
    ),
)

INTEGERS = Message(
    en=Words(
        "weights of integer type were told to require gradients: they are quantized",
        "Packed 4-bit and 8-bit weights are integers and cannot be trained. A loop that sets `requires_grad` on all "
        "parameters, or on a part that was quantized along with the rest (a projector, a head, norms), meets them.",
        "Train an adapter beside them (`LoraConfig`, `prepare_model_for_kbit_training(model)`), leave the part that is "
        'trained whole out of the quantization (`BitsAndBytesConfig(llm_int8_skip_modules=["mm_projector", '
        '"lm_head"])`), or set the flag only where `param.is_floating_point()`; or load the model in bf16.',
    ),
    zh=Words(
        "对整数类型的权重要求梯度:它们是量化的",
        "打包的 4-bit 和 8-bit 权重是整数,无法训练。对所有参数设置 `requires_grad` 的循环,或对随其余部分一起被量化的模"
        "块(投影层、输出头、归一化层)设置时会遇到。",
        "在其旁训练适配器(`LoraConfig`、`prepare_model_for_kbit_training(model)`);把需要完整训练的部分排除在量化之外"
        '(`BitsAndBytesConfig(llm_int8_skip_modules=["mm_projector", "lm_head"])`);或只在 `param.is_floating_point()` '
        "时设置该标志;或以 bf16 加载模型。",
    ),
)

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


#: who quantizes, or sets the flag on what is quantized
_LIBRARY = re.compile(
    r"[\\/](?:peft|bitsandbytes|transformers|accelerate|trl|unsloth\w*|deepspeed|fsdp|awq|gptqmodel|auto_gptq|llava\w*"
    r"|swift|llamafactory|verl)[\\/]"
)


def explain(hits: Hits) -> Finding | None:
    """The Trainer refuses by its own words; torch only sees integers, which may be a program's own."""
    if hits.get("integers"):
        frames = hits.first.frames
        if frames and not any(_LIBRARY.search(frame) for frame in frames):
            return None
        return found(PROBLEM, INTEGERS, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence())

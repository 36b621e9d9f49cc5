"""A module that `target_modules` names is of a kind that LoRA cannot adapt.

## What it means
A name can match more than linear layers: a dropout, a norm, a whole block, or a quantized layer whose
package is missing or older than PEFT wants.
## What it does to a run
PEFT raises ValueError before training.
## What to do
Name linear layers only, and install the package of a quantized layer.
## How it is found
In a log: by PEFT's exception.
## References
https://github.com/huggingface/peft/blob/v0.18.0/src/peft/tuners/lora/model.py
https://huggingface.co/docs/peft/developer_guides/lora
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="PFT006", name="lora-target-of-wrong-kind", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: Target module (?P<module>[A-Za-z_]\w{0,60})\([^\n]{0,400}\) is not supported\."
        r" Currently, only",
    ),
    Signature(r"ValueError: Target module (?P<module>[A-Za-z_]\w{0,60})\(\s*$"),
)

LOG_MESSAGE = Message(
    en=Words(
        "`target_modules` matches a `{module}`, which LoRA cannot adapt",
        "PEFT adapts linear, embedding and convolution layers. A name such as `dense` or a pattern can "
        "match a whole block as well; a quantized linear layer is refused where its package "
        "(bitsandbytes, auto-gptq, autoawq) is missing or too old for this PEFT.",
        'Set `target_modules="all-linear"` or name the linear layers themselves; for a quantized layer '
        "upgrade both: `pip install -U peft bitsandbytes`.",
    ),
    zh=Words(
        "`target_modules` 匹配到 LoRA 无法适配的 `{module}`",
        "PEFT 可适配线性层、嵌入层和卷积层。诸如 `dense` 的名称或模式也可能匹配整个模块块;量化线性层在其"
        "包(bitsandbytes、auto-gptq、autoawq)缺失或对该 PEFT 过旧时会被拒绝。",
        '设置 `target_modules="all-linear"` 或直接指明线性层;对于量化层,同时升级:`pip install -U peft bitsandbytes`。',
    ),
)

LOG_CONFIDENCE = LIKELY

"""Frozen and trained parameters lie in one FSDP unit.

## What it means
With `use_orig_params=False` FSDP keeps only the flat tensor of a unit, which requires a gradient as a whole
or not at all. LoRA on a frozen base, or frozen embeddings, mix the two.
## What it does to a run
Wrapping raises ValueError on every rank, after the model was loaded.
## What to do
Set `fsdp_use_orig_params: true`.
## How it is found
In a log: by torch's exception.
## References
https://pytorch.org/docs/stable/fsdp.html
https://huggingface.co/docs/peft/accelerate/fsdp
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="FSD008", name="fsdp-mixed-gradients-in-unit", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: Must flatten tensors with uniform `?requires_grad`? when `?use_orig_params"),
    Signature(r"ValueError: `FlatParameter` requires uniform `requires_grad`"),  # torch 2.0 and older
)

LOG_MESSAGE = Message(
    en=Words(
        "FSDP cannot flatten frozen and trained parameters of one unit together",
        "With `use_orig_params=False` a wrapped layer is trained as a whole or not at all; LoRA and "
        "frozen embeddings mix both in one layer.",
        "Set `fsdp_use_orig_params: true` in the accelerate configuration (`use_orig_params=True`), or "
        "wrap the trained modules on their own, as PEFT's `fsdp_auto_wrap_policy` does.",
    ),
    zh=Words(
        "FSDP 无法把同一单元中冻结和训练的参数一起展平",
        "`use_orig_params=False` 时,被包装的层只能整体训练或整体不训练;LoRA 和冻结的嵌入层会在同一层中混合两者。",
        "在 accelerate 配置中设置 `fsdp_use_orig_params: true`(`use_orig_params=True`),或像 PEFT 的 "
        "`fsdp_auto_wrap_policy` 那样单独包装训练的模块。",
    ),
)

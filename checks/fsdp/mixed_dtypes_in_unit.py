"""Parameters of several types lie in one FSDP unit.

## What it means
FSDP version 1 flattens the parameters of a unit into one tensor, which has one type. A bf16 base with fp32
LoRA weights, layers that a model keeps in fp32, or packed 4-bit weights break that.
## What it does to a run
Wrapping raises ValueError on every rank, after the model was loaded.
## What to do
Bring all parameters to one type, or use FSDP2 (`fsdp_version: 2`).
## How it is found
In a log: by torch's exception, which names both types.
## References
https://pytorch.org/docs/stable/fsdp.html
https://huggingface.co/docs/peft/accelerate/fsdp
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="FSD007", name="fsdp-mixed-dtypes-in-unit", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: Must flatten tensors with uniform dtype but got torch\.(?P<first>\w{1,16}) and"
        r" torch\.(?P<second>\w{1,16})",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "FSDP cannot flatten a unit with parameters of `{first}` and `{second}`",
        "All parameters of a wrapped layer become one flat tensor of one dtype. Usual sources: LoRA "
        "adapters in float32 on a bfloat16 base, norms kept in float32, or 4-bit weights stored as uint8.",
        "Cast everything to one dtype after the adapter is added: `model = model.to(torch.bfloat16)` (or "
        "load the base with `torch_dtype=torch.float32`); for QLoRA set "
        "`bnb_4bit_quant_storage=torch.bfloat16` to the dtype of the rest; or use FSDP2: `fsdp_version: "
        "2`.",
    ),
    zh=Words(
        "FSDP 无法展平同时含有 `{first}` 和 `{second}` 参数的单元",
        "被包装层的所有参数会变成一个单一 dtype 的扁平张量。常见来源:bfloat16 基座上的 float32 LoRA 适配"
        "器、保持为 float32 的归一化层,或以 uint8 存储的 4-bit 权重。",
        "加入适配器后统一 dtype:`model = model.to(torch.bfloat16)`(或以 `torch_dtype=torch.float32` 加载"
        "基座);QLoRA 则设置 `bnb_4bit_quant_storage=torch.bfloat16`,与其余参数一致;或使用 "
        "FSDP2:`fsdp_version: 2`。",
    ),
)

"""FSDP cannot flatten the integer storage of a quantized model.

## What it means
A 4-bit model keeps its weights as packed uint8. FSDP flattens the parameters of a unit into one tensor of a
floating type; bitsandbytes stores the same bits in a float type when it is told so.
## What it does to a run
Wrapping raises ValueError on every rank, after the model was loaded.
## What to do
Set the quantized storage to the dtype of the rest.
## How it is found
In a log: by torch's exception.
## References
https://huggingface.co/docs/bitsandbytes/main/en/fsdp_qlora
https://github.com/bitsandbytes-foundation/bitsandbytes/blob/main/CHANGELOG.md
https://github.com/huggingface/alignment-handbook/issues/169
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="FSD010", name="fsdp-integers-in-unit", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: Cannot flatten integer dtype tensors"),
    Signature(
        r"RuntimeError: [Oo]nly Tensors of floating point (?:and complex )?dtype can require gradients",
        frame=r"[\\/]fsdp[\\/](?:_fully_shard[\\/])?(?:_fsdp_param|flat_param|_flat_param)\.py:",
    ),
)


LOG_MESSAGE = Message(
    en=Words(
        "FSDP met the integer weights of a quantized model",
        "4-bit (or 8-bit) weights are packed integers, which FSDP cannot put into its flat parameters.",
        "Load with `BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_storage=torch.bfloat16, "
        "bnb_4bit_compute_dtype=torch.bfloat16)` and `torch_dtype=torch.bfloat16` (the same "
        "dtype everywhere), with `bitsandbytes>=0.43`, or use DeepSpeed ZeRO-3 or DDP for QLoRA; "
        "8-bit models do not work under FSDP.",
    ),
    zh=Words(
        "FSDP 遇到了量化模型的整数权重",
        "4-bit(或 8-bit)权重是打包的整数,FSDP 无法放入其展平参数。",
        "用 `BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_storage=torch.bfloat16, "
        "bnb_4bit_compute_dtype=torch.bfloat16)` 和 `torch_dtype=torch.bfloat16`(处处相同的 "
        "dtype)加载,`bitsandbytes>=0.43`;或用 DeepSpeed ZeRO-3 或 DDP 做 QLoRA;8-bit "
        "模型不能用于 FSDP。",
    ),
)

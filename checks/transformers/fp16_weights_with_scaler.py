"""The weights themselves are fp16, and fp16 mixed precision is to scale their gradients.

## What it means
Mixed precision wants weights in fp32 and computes in fp16; with weights loaded in fp16 the gradients are
fp16 too, which torch's scaler refuses.
## What it does to a run
The first optimizer step raises ValueError.
## What to do
Load the model in fp32, or in bf16 with `bf16=True`, or cast the trained parameters to fp32.
## How it is found
In a log: by the exception of torch's scaler.
## References
https://github.com/huggingface/peft/issues/341
https://pytorch.org/docs/stable/amp.html
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF018", name="fp16-weights-with-scaler", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"ValueError: Attempting to unscale FP16 gradients"),)

LOG_MESSAGE = Message(
    en=Words(
        "the trained weights are fp16, and `fp16=True` wants them in fp32",
        "The scaler of mixed precision unscales gradients in fp32 only. The model was loaded with "
        "`torch_dtype=torch.float16` (or its config says so), and so were the parameters that are "
        "trained.",
        "Load with `torch_dtype=torch.float32` (`dtype=` from Transformers 5 on), or train in bf16 "
        "(`bf16=True` and bfloat16 weights); with LoRA cast only the adapter: `for p in "
        "model.parameters(): if p.requires_grad: p.data = p.data.float()`.",
    ),
    zh=Words(
        "被训练的权重是 fp16,而 `fp16=True` 要求它们为 fp32",
        "混合精度的 scaler 只能对 fp32 梯度做 unscale。模型以 `torch_dtype=torch.float16` 加载(或其配置如"
        "此),被训练的参数也一样。",
        "以 `torch_dtype=torch.float32` 加载(Transformers 5 起为 `dtype=`),或用 bf16 训练(`bf16=True` 且"
        "权重为 bfloat16);LoRA 时只转换适配器:`for p in model.parameters(): if p.requires_grad: p.data = "
        "p.data.float()`。",
    ),
)

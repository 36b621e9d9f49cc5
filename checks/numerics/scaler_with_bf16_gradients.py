"""The fp16 loss scaler met bf16 gradients.

## What it means
`fp16=True` puts a `GradScaler` into the step, whose kernels are made for float16 and float32. The weights, and so
their gradients, are bfloat16.
## What it does to a run
NotImplementedError at the first optimizer step.
## What to do
What the finding says for the message.
## How it is found
In a log: by the message that the library raises.
## References
https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
https://huggingface.co/docs/transformers/perf_train_gpu_one#mixed-precision-training
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="NUM015", name="scaler-with-bf16-gradients", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"_amp_foreach_non_finite_check_and_unscale_cuda. not implemented for "
            r".(?P<dtype>BFloat16)"
        ),
        Message(
            en=Words(
                "the fp16 loss scaler met gradients of type {dtype}",
                "`fp16=True` (or `mixed_precision: fp16`) is set, and trained weights are bfloat16: the "
                "checkpoint was loaded in its own dtype.",
                "Set `bf16=True` and not `fp16` (in Accelerate's configuration `mixed_precision: bf16`); on GPUs "
                "without bf16 load the weights with `dtype=torch.float32` (LoRA: the base in float16, adapters "
                "in float32).",
            ),
            zh=Words(
                "fp16 损失缩放器遇到了 {dtype} 类型的梯度",
                "设置了 `fp16=True`(或 `mixed_precision: fp16`),而被训练的权重是 bfloat16:检查点以其自身 dtype 加载。",
                "设 `bf16=True` 而不是 `fp16`(Accelerate 配置中 `mixed_precision: bf16`);没有 bf16 的 GPU 用 "
                "`dtype=torch.float32` 加载权重(LoRA:基座 float16,适配器 float32)。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)

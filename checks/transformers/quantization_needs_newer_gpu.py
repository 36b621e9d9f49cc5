"""A quantization of the checkpoint needs a newer GPU or Triton.

## What it means
FP8 matrix products begin with compute capability 8.9, MXFP4 kernels with 7.5 and Triton 3.4.
## What it does to a run
The model does not load, or the first kernel fails.
## What to do
What the finding says for the message.
## How it is found
In a log: by the message that the library raises.
## References
https://huggingface.co/docs/transformers/quantization/finegrained_fp8
https://huggingface.co/docs/transformers/quantization/mxfp4
https://developer.nvidia.com/cuda-gpus
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TRF059", name="quantization-needs-newer-gpu", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"^(?:ValueError|RuntimeError): FP8 quantized models is only supported on GPUs with compute "
            r"capability >= (?P<needed>[\d.]{1,5})"
        ),
        Message(
            en=Words(
                "the checkpoint is FP8, which Transformers runs on compute capability {needed} or newer only",
                "The GPU of this run is older (A100 8.0, A10 and RTX 30 8.6). FP8 cannot be trained in full "
                "either way.",
                "Take the bf16 checkpoint of the model, or have it widened while loading: `from_pretrained(..., "
                "quantization_config=FineGrainedFP8Config(dequantize=True))`; or load bf16 weights in 4 bit with "
                "bitsandbytes.",
            ),
            zh=Words(
                "检查点为 FP8,Transformers 只在计算能力 {needed} 及以上运行",
                "本次运行的 GPU 较旧(A100 为 8.0,A10 与 RTX 30 为 8.6)。FP8 权重本身也不能全量训练。",
                "使用该模型的 bf16 检查点,或加载时展开:`from_pretrained(..., "
                "quantization_config=FineGrainedFP8Config(dequantize=True))`;或用 bitsandbytes 以 4 位加载 bf16 "
                "权重。",
            ),
        ),
    ),
    (
        (
            r"^ValueError: MXFP4 quantiz(?:ed models|ation) is only supported on GPUs with compute capability "
            r">= (?P<needed>[\d.]{1,5})"
        ),
        Message(
            en=Words(
                "MXFP4 weights run on GPUs of compute capability {needed} or newer only",
                "The GPU is older, or none is visible.",
                "Widen to bf16 while loading: `from_pretrained(..., "
                "quantization_config=Mxfp4Config(dequantize=True))` (four times the memory), which training "
                "needs anyway; or take a bf16 copy of the checkpoint.",
            ),
            zh=Words(
                "MXFP4 权重只能在计算能力 {needed} 及以上的 GPU 上运行",
                "GPU 较旧,或没有可见的 GPU。",
                "加载时展开为 bf16:`from_pretrained(..., quantization_config=Mxfp4Config(dequantize=True))`(显存"
                "为四倍),训练本来也需要如此;或使用 bf16 版本的检查点。",
            ),
        ),
    ),
    (
        r"^ValueError: MXFP4 quantization requires (?:T|t)riton(?! and kernels installed: kernels)",
        Message(
            en=Words(
                "MXFP4 weights need Triton 3.4 or newer (CPU and XPU: 3.5) and the package `kernels`",
                "One of the two is missing or too old. Triton comes with torch; torch 2.8 is the first with 3.4.",
                "`pip install -U torch` (2.8 or newer) and `pip install kernels`, or widen while loading: "
                "`quantization_config=Mxfp4Config(dequantize=True)`.",
            ),
            zh=Words(
                "MXFP4 权重需要 Triton 3.4 及以上(CPU 与 XPU 为 3.5)以及 `kernels` 包",
                "两者之一缺失或过旧。Triton 随 torch 安装;torch 2.8 首次带有 3.4。",
                "`pip install -U torch`(2.8 或更新)与 `pip install kernels`,或加载时展开"
                ":`quantization_config=Mxfp4Config(dequantize=True)`。",
            ),
        ),
    ),
    (
        r"^KeyError: 'float8_e8m0fnu'$",
        Message(
            en=Words(
                "the installed Triton does not know the dtype of MX scales (`float8_e8m0fnu`)",
                "A kernel was handed such a tensor and Triton has no name for it: Triton is older than the "
                "kernel's author had, or torch and Triton are not of one time.",
                "`pip install -U torch` with the Triton that it brings (no Triton pinned beside it), and the "
                "library whose kernel it is; until then a checkpoint without MX or UE8M0 scales.",
            ),
            zh=Words(
                "所装 Triton 不认识 MX 缩放的 dtype(`float8_e8m0fnu`)",
                "内核得到了这种张量而 Triton 没有对应名称:Triton 比内核作者所用的旧,或 torch 与 Triton 不匹配。",
                "`pip install -U torch` 并使用其自带的 Triton(不要另外固定 Triton),以及内核所属的库;在此之前使用"
                "没有 MX 或 UE8M0 缩放的检查点。",
            ),
        ),
    ),
)

SIGNATURES = (
    Signature(CASES[0][0]),
    Signature(CASES[1][0]),
    Signature(CASES[2][0]),
    Signature(CASES[3][0], frame=r"[\\/]triton[\\/]"),
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)

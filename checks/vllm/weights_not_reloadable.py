"""vLLM cannot load weights a second time into this model.

## What it means
After loading, vLLM rearranges weights for its kernels: MoE experts, quantized layers, layers on CPU. The
rearranged parameters no longer carry the loader that knows how to fill them.
## What it does to a run
The first transfer of trained weights ends with an AttributeError; generation with the original weights
would work.
## What to do
Use a release that keeps the loaders, or an unquantized rollout model.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/vllm-project/vllm/issues/17429
https://github.com/vllm-project/vllm/issues/34201
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL037", name="vllm-weights-not-reloadable", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"AttributeError: '(?:Parameter|ModelWeightParameter)' object has no attribute"
        r" '(?P<attribute>weight_loader|load_column_parallel_weight|load_row_parallel_weight)'",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "vLLM cannot take new weights: a parameter has lost its `{attribute}`",
        "Once loaded, vLLM rearranges MoE experts, quantized layers and layers on CPU for its kernels, "
        "and the new parameters forget how to be filled. The weight transfer from the trainer then has "
        "nothing to call.",
        "For MoE models use vLLM 0.8.5 or newer with a veRL or TRL of the same time. Take quantization "
        "away from the rollout model (`quantization`, fp8). A CPU build of vLLM cannot be updated in "
        "place: keep `use_vllm=False` there, or use a GPU.",
    ),
    zh=Words(
        "vLLM 无法接收新权重:某个参数丢失了 `{attribute}`",
        "加载后,vLLM 会为其内核重排 MoE 专家、量化层以及 CPU 上的层,新的参数不再知道如何被填充。训练器传"
        "输权重时便无从调用。",
        "MoE 模型请使用 vLLM 0.8.5 及以上版本,并配合同一时期的 veRL 或 TRL。去掉 rollout 模型的量化"
        "(`quantization`、fp8)。CPU 构建的 vLLM 无法原地更新:在那里保持 `use_vllm=False`,或使用 GPU。",
    ),
)

LOG_CONFIDENCE = LIKELY

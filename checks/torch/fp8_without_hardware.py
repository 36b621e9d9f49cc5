"""An fp8 kernel of Triton is compiled for a GPU without fp8 arithmetic.

## What it means
fp8 in the form e4m3 (`fp8e4nv` in Triton) is computed by cards of compute capability 8.9 and newer: Ada,
Hopper, Blackwell. Ampere (A100, A10, RTX 30) has none.
## What it does to a run
The kernel cannot be compiled; the engine ends at its first forward pass, or while it starts.
## What to do
Take a checkpoint that is not fp8, or an engine that only stores the weights in fp8.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/sgl-project/sglang/issues/5871
https://github.com/triton-lang/triton/blob/v3.2.0/python/triton/language/semantic.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR020", name="fp8-without-hardware", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"type fp8e4nv not supported in this architecture\. The supported fp8 dtypes are"
        r" \((?P<types>[^)\n]{1,80})\)",
    ),
    Signature(
        r"AssertionError: (?P<need>FP8 block scaled GEMM requires [^\n]{4,80}"
        r"|Device compute capability [\d.]{3,5}\w? or "
        r"higher required for \w{3,12}[^\n]{0,60}|Cuda(?:rt)? version [^\n]{4,80} required for \w{3,12}[^\n]{0,60}"
        r"|CublasLt version [^\n]{4,80} required for \w{3,12}[^\n]{0,60}|MXFP8[^\n]{0,40} not supported[^\n]{0,80})",
        frame=r"transformer_engine",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "an fp8 (e4m3) kernel was compiled for a GPU without native fp8",
        "Triton's `fp8e4nv` needs compute capability 8.9 (Ada, RTX 40) or 9.0 (Hopper); on Ampere (A100 "
        "8.0, A10 and RTX 30 8.6) only {types} exist. The checkpoint, or the KV cache, is fp8.",
        "Use a bf16, AWQ or GPTQ checkpoint of the model, or an engine with weight-only fp8 (vLLM's "
        "Marlin kernels run fp8 checkpoints on 8.0); leave `--kv-cache-dtype` at auto (or `fp8_e5m2`); "
        "or a GPU of compute capability 8.9 or newer.",
    ),
    zh=Words(
        "在没有原生 fp8 的 GPU 上编译了 fp8(e4m3)内核",
        "Triton 的 `fp8e4nv` 需要计算能力 8.9(Ada、RTX 40)或 9.0(Hopper);Ampere(A100 为 8.0,A10 与 RTX "
        "30 为 8.6)只支持 {types}。检查点或 KV cache 使用了 fp8。",
        "使用该模型的 bf16、AWQ 或 GPTQ 检查点,或支持仅权重 fp8 的引擎(vLLM 的 Marlin 内核可在 8.0 上运行"
        " fp8 检查点);`--kv-cache-dtype` 保持 auto(或 `fp8_e5m2`);或使用计算能力 8.9 及以上的 GPU。",
    ),
)

RECIPE = Message(
    en=Words(
        "Transformer Engine refuses the FP8 recipe: the GPU or the CUDA libraries are too old",
        "FP8 by tensor wants Ada or Hopper (8.9, 9.0) and cuBLAS of CUDA 12.1 or newer; by blocks Hopper and CUDA "
        "12.9; MXFP8 Blackwell (10.0). What counts is the CUDA that Transformer Engine was built with and finds, not "
        "the driver's.",
        "On a fitting GPU take an image with the newer CUDA (for blockwise FP8: 12.9 or newer), torch and Transformer "
        "Engine built for it. Otherwise choose another recipe (`fp8_recipe: tensorwise` or `delayed` in NeMo-RL and "
        "Megatron) or train in bf16 (`fp8: false`).",
    ),
    zh=Words(
        "Transformer Engine 在此拒绝该 FP8 方案:GPU 太旧,或 CUDA 库太旧",
        "按张量的 FP8 需要 Ada 或 Hopper(8.9、9.0)以及 CUDA 12.1 及以上的 cuBLAS;按块的需要 Hopper 与 CUDA 12.9;MXFP8 "
        "需要 Blackwell(10.0)。这里指 Transformer Engine 编译和找到的 CUDA,而不是驱动的版本。",
        "GPU 合适时使用更新 CUDA 的镜像(按块 FP8 为 12.9 及以上),以及为其构建的 torch 与 Transformer Engine。否则换用其"
        "他方案(NeMo-RL 与 Megatron 中 `fp8_recipe: tensorwise` 或 `delayed`),或用 bf16 训练(`fp8: false`)。",
    ),
)


def explain(hits: Hits) -> Finding:
    """A kernel of Triton's, or a recipe of Transformer Engine's."""
    need = hits.get("need")
    return found(
        PROBLEM, RECIPE if need else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        types=hits.get("types"),
    )  # fmt: skip

"""DeepGEMM is wanted and not there, or too old.

## What it means
vLLM and SGLang compute block-wise FP8 matrices with DeepGEMM on Hopper and Blackwell GPUs. It is a package of
its own, and some releases call it although it is not installed.
## What it does to a run
The engine ends at warm-up.
## What to do
Install it, or switch it off.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/configuration/env_vars/
https://github.com/vllm-project/vllm/issues/41849
https://github.com/sgl-project/sglang/blob/v0.4.6.post5/python/sglang/srt/layers/quantization/deep_gemm.py
https://github.com/sgl-project/sglang/blob/v0.5.4/python/sglang/srt/environ.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL059", name="deepgemm-missing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"DeepGEMM backend is not available or outdated",
    ),
    Signature(
        r"ModuleNotFoundError: No module named 'deep_gemm'",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "DeepGEMM (`deep_gemm`) is called and is not installed, or too old",
        "It computes FP8 matrices on Hopper and Blackwell GPUs. This release calls it, also where the "
        "model is not FP8 in some versions, and finds no package or one without the function.",
        "Switch it off: `VLLM_USE_DEEP_GEMM=0` (SGLang: `SGLANG_ENABLE_JIT_DEEPGEMM=0`, in older "
        "releases `SGL_ENABLE_JIT_DEEPGEMM=0`). Or install the version that the release "
        "names (`tools/install_deepgemm.sh` of the vLLM sources, built for the torch that is installed), "
        "or move to a patch release of the engine that does not need it.",
    ),
    zh=Words(
        "调用了 DeepGEMM(`deep_gemm`),但没有安装或版本过旧",
        "它在 Hopper 与 Blackwell GPU 上计算 FP8 矩阵。该版本会调用它(某些版本在模型不是 FP8 时也会),但没"
        "有找到该包,或该包缺少所需函数。",
        "关闭它:`VLLM_USE_DEEP_GEMM=0`(SGLang:`SGLANG_ENABLE_JIT_DEEPGEMM=0`,旧版为 "
        "`SGL_ENABLE_JIT_DEEPGEMM=0`)。或安装该版本指定的 "
        "DeepGEMM(vLLM 源码中的 `tools/install_deepgemm.sh`,按所装 torch 编译),或换用不需要它的引擎补丁版"
        "本。",
    ),
)

"""The kernel of the experts runs with settings that nobody tuned for this GPU.

## What it means
vLLM and SGLang read the block sizes of the fused MoE kernel from a file that is named after the number of
experts, their size, the GPU and the data type. Without that file they guess.
## What it does to a run
Generation with a mixture-of-experts model is slower, by a tenth to a half.
## What to do
Tune once and put the file where the engine looks.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/vllm-project/vllm/blob/main/benchmarks/kernels/benchmark_moe.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import INFO, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="PRF009", name="expert-kernel-not-tuned", severity=INFO, since="0.1", ends_run=False)

SIGNATURES = (
    Signature(
        r"Using default MoE (?:kernel )?config\. Performance might be sub-?optimal",
        kind="warning",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the MoE kernel of the engine has no tuned settings for this GPU",
        "The engine found no file of block sizes for this number and size of experts on this GPU and "
        "uses a guess. Nothing fails; generation may be slower.",
        "Tune it once: `python benchmarks/kernels/benchmark_moe.py --model MODEL --tp-size N --tune` "
        "from vLLM's repository (SGLang: benchmark/kernels/fused_moe_triton), and let "
        "`VLLM_TUNED_CONFIG_FOLDER` name the folder of the result. Another parallel size may have a file "
        "already.",
    ),
    zh=Words(
        "引擎的 MoE 内核没有针对该 GPU 调优的设置",
        "引擎没有找到与专家数量、大小及该 GPU 对应的分块设置文件,使用了猜测值。不会失败,但生成可能较慢。",
        "调优一次:在 vLLM 仓库中运行 `python benchmarks/kernels/benchmark_moe.py --model MODEL --tp-size "
        "N --tune`(SGLang 为 benchmark/kernels/fused_moe_triton),并用 `VLLM_TUNED_CONFIG_FOLDER` 指向结果"
        "目录。其他并行大小可能已有现成文件。",
    ),
)

"""The ptxas in use does not know this GPU's architecture.

## What it means
Triton and nvcc assemble code with ptxas, which knows the architectures of its time. A card that is newer
than it has no name there.
## What it does to a run
`Value 'sm_...' is not defined for option 'gpu-name'`, at the first kernel that Triton compiles.
## What to do
Use a newer ptxas or a newer Triton.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/triton-lang/triton/issues/8539
https://github.com/InternLM/lmdeploy/issues/3410
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR019", name="ptxas-lacks-gpu", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Value '(?P<arch>sm_\w{2,8})' is not defined for option 'gpu-name'"),
    Signature(r"nvcc fatal {1,4}: Unsupported gpu architecture '(?P<arch>(?:compute|sm)_\w{2,8})'"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the ptxas or nvcc in use does not know `{arch}`, this GPU's architecture",
        "The card is newer than the compiler: Triton's bundled ptxas, or the CUDA toolkit that nvcc "
        "belongs to. sm_120 (RTX 50) and sm_100 (B200, Blackwell) need CUDA 12.8 and Triton 3.3, their family names "
        "with an f (sm_100f) CUDA 12.9, sm_121 and sm_110 (DGX Spark, Thor) CUDA 13.",
        "Install a CUDA toolkit that knows the card and point Triton at it: `export "
        "TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas`; or upgrade torch together with its Triton (torch "
        "2.7 cu128 or newer for sm_120). For nvcc set CUDA_HOME to the newer toolkit.",
    ),
    zh=Words(
        "所用的 ptxas 或 nvcc 不认识此 GPU 的架构 `{arch}`",
        "显卡比编译器新:Triton 自带的 ptxas,或 nvcc 所属的 CUDA 工具包。sm_120(RTX 50)与 sm_100(B200,Blackwell)需要"
        " CUDA 12.8 和 Triton 3.3,带 f 的族名(sm_100f)需要 CUDA 12.9,sm_121 与 sm_110(DGX Spark、Thor)需要 CUDA "
        "13。",
        "安装支持该显卡的 CUDA 工具包并让 Triton 使用它:`export "
        "TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas`;或将 torch 与其 Triton 一起升级(sm_120 需 torch "
        "2.7 cu128 及以上)。nvcc 请把 CUDA_HOME 指向较新的工具包。",
    ),
)

LOG_COMMANDS = ("export TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas",)

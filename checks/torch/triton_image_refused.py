"""The driver refuses the code that Triton has compiled.

## What it means
Triton brings its own ptxas and assembles code for the card with it. A driver that is older than that ptxas
cannot load the result, forward compatibility packages included.
## What it does to a run
The first Triton kernel ends with `device kernel image is invalid`; in vLLM the engine core only reports
that it could not start.
## What to do
Let Triton use the ptxas of the driver's CUDA, or update the driver.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/triton-lang/triton/issues/2971
https://github.com/triton-lang/triton/issues/3001
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR018", name="triton-image-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Triton Error \[CUDA\]: device kernel image is invalid"),
    Signature(r"the provided PTX was compiled with an unsupported toolchain"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the driver cannot load a kernel that Triton (or a newer ptxas) has compiled",
        "Triton assembles its kernels with the ptxas that it brings along, of a newer CUDA than this "
        "driver supports; R450 and R470 drivers refuse code of CUDA 12 even where torch is a cu118 "
        "build. The card is fine.",
        "Update the driver (R525 or newer for CUDA 12, R580 for CUDA 13). If that is not possible: "
        "`export TRITON_PTXAS_PATH=/usr/local/cuda-11.8/bin/ptxas` (the ptxas of the driver's CUDA) with "
        "a fresh TRITON_CACHE_DIR, or a torch and Triton of an older CUDA.",
    ),
    zh=Words(
        "驱动无法加载 Triton(或较新的 ptxas)编译的内核",
        "Triton 用自带的 ptxas 汇编内核,其 CUDA 版本比该驱动支持的更新;即使 torch 是 cu118 构建,R450 和 "
        "R470 驱动也拒绝 CUDA 12 的代码。显卡没有问题。",
        "更新驱动(CUDA 12 需 R525 及以上,CUDA 13 需 R580)。若不可行:`export "
        "TRITON_PTXAS_PATH=/usr/local/cuda-11.8/bin/ptxas`(驱动所属 CUDA 的 ptxas),并换一个新的 "
        "TRITON_CACHE_DIR;或使用较旧 CUDA 的 torch 和 Triton。",
    ),
)

LOG_COMMANDS = ("export TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas",)

LOG_CONFIDENCE = LIKELY

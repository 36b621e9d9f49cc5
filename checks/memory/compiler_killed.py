"""Host memory ran out while an extension was compiled.

## What it means
ninja starts as many compilers at once as the machine has CPUs, and each of flash-attn, xformers, DeepSpeed or
FlashInfer takes several gigabytes. The kernel, or the limit of the container or job, killed one of them.
## What it does to a run
The installation fails, or the run that builds its kernels at the first use.
## What to do
Let fewer compilers run at once, or take a release with ready-made kernels.
## How it is found
In a log: by the words of the compiler that lost a part of itself to signal 9.
## References
https://github.com/flashinfer-ai/flashinfer/issues/4410
https://github.com/Dao-AILab/flash-attention#installation-and-features
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="MEM028", name="compiler-killed", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:fatal error|error): Killed signal terminated program (?P<program>cc1plus|cc1|as|ld|lto1)",
    ),
    Signature(
        r"nvcc (?:error|fatal) +: '(?P<program>cicc|cudafe\+\+|ptxas|nvlink|fatbinary)' died due to si"
        r"gnal 9",
    ),
)

LOG_CONFIDENCE = CONFIRMED

LOG_COMMANDS = ("MAX_JOBS=4",)

LOG_MESSAGE = Message(
    en=Words(
        "a compiler (`{program}`) was killed: host memory ran out while kernels were built",
        "The build runs one compiler for each CPU, and each takes several gigabytes for templates of "
        "CUTLASS. Together they went over the RAM of the machine, or over the memory limit of the "
        "container or job.",
        "Build with fewer at once: `MAX_JOBS=4` (and `NVCC_THREADS=1`) in front of the command, fewer if "
        "it happens again, or ask for more memory. Better: install a wheel that is built already "
        "(release pages of flash-attn, `flashinfer-jit-cache`, vLLM), and build once before the ranks "
        "start, not in each of them.",
    ),
    zh=Words(
        "编译器(`{program}`)被杀:编译内核时主机内存耗尽",
        "构建会为每个 CPU 运行一个编译器,而 CUTLASS 模板使每个都占用数 GB。合计超过了机器的内存,或容器、"
        "作业的内存上限。",
        "减少同时编译的数量:在命令前加 `MAX_JOBS=4`(以及 `NVCC_THREADS=1`),若仍发生则再减少,或申请更多内"
        "存。更好的做法:安装已编译好的 wheel(flash-attn 发布页、`flashinfer-jit-cache`、vLLM),并在各 "
        "rank 启动前只编译一次。",
    ),
)

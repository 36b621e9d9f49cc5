"""FlashInfer could not compile a kernel.

## What it means
FlashInfer builds the kernels that are not in its wheel when they are first used (JIT), with ninja, nvcc of a
CUDA toolkit and a host compiler, into ~/.cache/flashinfer. On machines that only run models there often is no
toolkit, or CUDA_HOME names none.
## What it does to a run
The engine ends at warm-up or at the first request.
## What to do
Install a matching toolkit or ready-made kernels, or let another backend do the work.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.flashinfer.ai/installation.html
https://github.com/vllm-project/vllm/issues/36077
https://docs.vllm.ai/en/v0.25.0/design/attention_backends/
https://github.com/EuroEval/EuroEval/issues/1488
https://github.com/vllm-project/vllm/issues/50292
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL058", name="flashinfer-kernel-not-built", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"RuntimeError: Ninja build failed\. Ninja output:",
        frame=r"flashinfer|sglang",
    ),
    Signature(
        r"RuntimeError: Error building extension '(?P<kernel>[\w\-]{1,160})'",
        frame=r"flashinfer",
    ),
    Signature(
        r"Could not find nvcc and default cuda_home='(?P<home>[^'\n]{1,200})' doesn't exist",
    ),
    Signature(
        r"FileNotFoundError: \[Errno 2\] [^:'\n]{2,60}: '(?P<tool>ninja|\S{0,160}nvcc)'",
        frame=r"flashinfer",
    ),
    Signature(
        r"/bin/sh: (?:\d{1,5}: )?(?P<tool>\S{0,200}nvcc): (?:not found|No such file)",
        kind="sign",
    ),
    Signature(
        r"flashinfer/\S{1,200}:\d{1,6}:\d{1,4}: fatal error: (?P<tool>[\w./+\-]{1,120}): No such file or directory",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "FlashInfer could not compile a CUDA kernel{lost}",
        "FlashInfer builds kernels that its wheel lacks at run time. That takes `ninja`, a CUDA toolkit "
        "with `nvcc` of the CUDA version that torch was built for, and a C++ compiler. One of them is "
        "missing, `CUDA_HOME` or PATH name a wrong place (a stray colon included), the toolkit is too "
        "old for the GPU, or the build was cut off and its cache is broken.",
        "Set `CUDA_HOME` to an existing toolkit and put its bin on PATH (`nvcc --version` must answer), "
        "`pip install ninja`, clear `~/.cache/flashinfer` and start again. Or avoid the build: `pip "
        "install flashinfer-cubin flashinfer-jit-cache` of the same version, "
        "`VLLM_USE_FLASHINFER_SAMPLER=0`, another attention backend "
        "(`--attention-backend FLASH_ATTN`, before vLLM 0.15 `VLLM_ATTENTION_BACKEND=FLASH_ATTN`; SGLang: "
        "`--attention-backend triton --sampling-backend pytorch`), or uninstall flashinfer.",
    ),
    zh=Words(
        "FlashInfer 无法编译 CUDA 内核{lost_zh}",
        "FlashInfer 会在运行时编译其 wheel 中没有的内核,需要 `ninja`、与 torch 的 CUDA 版本相符且带 "
        "`nvcc` 的 CUDA 工具包,以及 C++ 编译器。其中之一缺失,`CUDA_HOME` 或 PATH 指向错误位置(包括多余的"
        "冒号),工具包对该 GPU 过旧,或编译中断导致缓存损坏。",
        "把 `CUDA_HOME` 设为存在的工具包并将其 bin 加入 PATH(`nvcc --version` 应有输出),`pip install "
        "ninja`,清空 `~/.cache/flashinfer` 后重启。或避免编译:安装同版本的 `flashinfer-cubin "
        "flashinfer-jit-cache`,设置 `VLLM_USE_FLASHINFER_SAMPLER=0`,换用其他注意力后端"
        "(`--attention-backend FLASH_ATTN`,vLLM 0.15 之前为 `VLLM_ATTENTION_BACKEND=FLASH_ATTN`;SGLang:"
        "`--attention-backend triton --sampling-backend pytorch`),或卸载 flashinfer。",
    ),
)

LOG_CONFIDENCE = LIKELY


def explain(hits: Hits) -> Finding:
    """With the tool that was not found, where told."""
    tool = hits.get("tool") or (f"nvcc in {hits.get('home')}" if hits.get("home") else "")
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        lost=f": `{tool}` was not found" if tool else "",
        lost_zh=f":找不到 `{tool}`" if tool else "",
    )

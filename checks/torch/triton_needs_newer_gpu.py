"""Triton cannot compile for a GPU as old as this one.

## What it means
torch.compile writes its GPU code in Triton, which needs compute capability 7.0 (Volta) and, for bfloat16 and several
instructions, 8.0. Pascal and older cards (GTX 10, P100, P40) are refused.
## What it does to a run
The first compiled call fails; what is written in Triton by hand (unsloth, liger, vLLM's kernels) fails too.
## What to do
Run on a newer GPU, or without compilation.
## How it is found
In a log: by torch's refusal, or by LLVM's when it meets an instruction that the card lacks.
## References
https://github.com/unslothai/unsloth/issues/2816
https://github.com/pytorch/pytorch/blob/main/torch/_inductor/exc.py
https://github.com/triton-lang/triton
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TOR053", name="triton-needs-newer-gpu", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"Found (?P<gpu>[^\n]{1,60}?) which is too old to be supported by the triton GPU compiler[^\n]"
            r"{0,200}?(?:of CUDA capability (?P<has>\d{1,2}\.\d)|$)"
        ),
        Message(
            en=Words(
                "{gpu} is too old for Triton, on which torch.compile builds (it needs capability 7.0)",
                "Triton has no code generator for cards below compute capability 7.0 (Volta): Pascal and "
                "Maxwell (GTX 10, P100, P40, M40) are refused. Eager PyTorch still runs on them; kernels "
                "written in Triton (unsloth, liger-kernel, parts of vLLM) do not.",
                "Take a newer GPU (on Kaggle T4 x2 instead of P100), or run without compilation: `export "
                "TORCHDYNAMO_DISABLE=1`, `torch_compile=False`, unsloth: `UNSLOTH_COMPILE_DISABLE=1`, vLLM: "
                "`--enforce-eager`. Leave out what is Triton by hand (`use_liger_kernel=False`).",
            ),
            zh=Words(
                "{gpu} 对 Triton 来说太旧,而 torch.compile 用 Triton 生成内核(需要 7.0 及以上)",
                "Triton 不支持计算能力低于 7.0(Volta)的显卡:Pascal、Maxwell(GTX 10、P100、P40、M40)会被拒绝。普"
                "通的 PyTorch 仍可运行;用 Triton 编写的内核(unsloth、liger-kernel、vLLM 的一部分)不行。",
                "换用较新的 GPU(Kaggle 上选 T4 x2 而非 P100),或不编译运行:`export TORCHDYNAMO_DISABLE=1`、"
                "`torch_compile=False`,unsloth:`UNSLOTH_COMPILE_DISABLE=1`,vLLM:`--enforce-eager`。并关闭手写的"
                " Triton 内核(`use_liger_kernel=False`)。",
            ),
        ),
    ),
    (
        (
            r"(?:Feature|Instruction|Modifier) '(?P<gpu>[^'\n]{1,60})'[^\n]{0,40}? requires "
            r"\.target (?P<has>sm_\d{2,3}\w?) or higher"
        ),
        Message(
            en=Words(
                "a kernel uses `{gpu}`, which needs {has}, and is compiled for an older GPU",
                "The code is compiled for this card, or for the oldest one of a list of architectures, which has no "
                "such instruction: bfloat16 and asynchronous copies (`cp.async`) came with sm_80, FP8 with sm_89. "
                "V100, T4 and RTX 20 are older.",
                "Triton and torch.compile: float16 in place of bfloat16 (`fp16=True, bf16=False`, "
                "`torch_dtype=torch.float16`, vLLM `--dtype half`), another attention or quantization backend, "
                "`TORCHDYNAMO_DISABLE=1`, or a newer GPU. An extension that is built: leave the older cards out "
                '(`export TORCH_CUDA_ARCH_LIST="8.0;9.0"`, CMake `-DCMAKE_CUDA_ARCHITECTURES=80`), then build anew.',
            ),
            zh=Words(
                "某个内核使用了 `{gpu}`(需要 {has}),却在为更旧的 GPU 编译",
                "代码在为本机显卡或架构列表中最旧的一种编译,而它没有该指令:bfloat16 与异步拷贝(`cp.async`)自 sm_80 起"
                ",FP8 自 sm_89 起。V100、T4 与 RTX 20 更旧。",
                "Triton 与 torch.compile:用 float16 代替 bfloat16(`fp16=True, bf16=False`、"
                "`torch_dtype=torch.float16`,vLLM 用 `--dtype half`),换注意力或量化后端,`TORCHDYNAMO_DISABLE=1`,或换更"
                '新的 GPU。编译扩展时:去掉较旧的架构(`export TORCH_CUDA_ARCH_LIST="8.0;9.0"`,CMake 用 '
                "`-DCMAKE_CUDA_ARCHITECTURES=80`)后重新编译。",
            ),
        ),
    ),
    (
        r"LLVM ERROR: Cannot select: intrinsic %llvm\.nvvm\.(?P<gpu>[\w.]{1,60})",
        Message(
            en=Words(
                "Triton's compiler met an instruction that this GPU does not have (`{gpu}`)",
                "The kernel uses what only newer cards have (warp shuffles with a mask from 7.0, tensor cores, "
                "asynchronous copies and bfloat16 from 8.0), and the compiler aborts the process instead of "
                "raising.",
                "Run on a newer GPU, or avoid the kernel: float16 instead of bfloat16, another attention backend "
                '(`attn_implementation="sdpa"`, vLLM: another `--attention-backend`, or `--enforce-eager`), '
                "`TORCHDYNAMO_DISABLE=1`. A newer Triton (with its torch) may support the card again.",
            ),
            zh=Words(
                "Triton 编译器遇到该 GPU 没有的指令(`{gpu}`)",
                "内核使用了较新显卡才有的功能(7.0 起的带掩码 shuffle、张量核心,8.0 起的异步拷贝与 bfloat16),编"
                "译器直接中止进程而不是抛出异常。",
                "换用较新的 GPU,或避开该内核:用 float16 代替 bfloat16,换注意力后端"
                '(`attn_implementation="sdpa"`,vLLM:换用其他 '
                "`--attention-backend` 或 `--enforce-eager`),`TORCHDYNAMO_DISABLE=1`。较新的 Triton(及其 torch)可能重新"
                "支持该卡。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)

"""An extension that is compiled at run time is not there.

## What it means
Some packages compile a CUDA kernel when it is first used, through torch's cpp_extension, and keep it in
~/.cache/torch_extensions. When that build fails, is cut off, or several processes build in the same folder
at once, the file is missing or half there when it is to be loaded.
## What it does to a run
The process ends when the kernel is first needed, sometimes hours into a run.
## What to do
Install what the build needs, clear the folder, and build once before the ranks start.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/deepspeedai/Megatron-DeepSpeed/issues/255
https://github.com/vllm-project/vllm/issues/16030
https://docs.pytorch.org/docs/stable/cpp_extension.html
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR022", name="extension-not-built", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:torch_extensions|fused_kernels)/[^\s:']{0,200}/(?P<name>[\w\-]{1,80})\.so: (?:cannot"
        r" open shared object file|file too short|undefined symbol|invalid ELF header)",
    ),
    Signature(
        r"RuntimeError: Error building extension '(?P<name>[\w\-]{1,80})'",
        symptom_of=("TOR", "CUD", "DSP", "PYT", "VLL058"),
    ),
    Signature(r"RuntimeError: Ninja is required to load C\+\+ extensions"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the run-time kernel of {name} was not built: its `.so` is missing or broken",
        "{name} compiles a CUDA extension when it is first used (JIT, torch's cpp_extension). The build "
        "failed (no ninja, no nvcc or CUDA toolkit), was cut off, or several ranks built in the same "
        "folder at once, so the file was not there when this process loaded it.",
        "Clear the folder (`rm -rf ~/.cache/torch_extensions`), install `ninja` and a CUDA toolkit with "
        "nvcc that fits torch, and build once in a single process before the ranks start (or give each "
        "its own TORCH_EXTENSIONS_DIR). Or avoid it: a release of {name} with ready-made kernels, for "
        "structured output of vLLM another backend (`--guided-decoding-backend`).",
    ),
    zh=Words(
        "{name} 的运行时内核没有编译好:其 `.so` 缺失或损坏",
        "{name} 在首次使用时编译 CUDA 扩展(JIT,torch 的 cpp_extension)。编译失败(没有 ninja、nvcc 或 "
        "CUDA 工具包)、被中断,或多个 rank 同时在同一目录编译,因此该进程加载时文件不存在。",
        "清空目录(`rm -rf ~/.cache/torch_extensions`),安装 `ninja` 和与 torch 相符、带 nvcc 的 CUDA 工具"
        "包,并在各 rank 启动前用单个进程编译一次(或为每个 rank 设置单独的 TORCH_EXTENSIONS_DIR)。或绕开它"
        ":使用自带内核的 {name} 版本;vLLM 的结构化输出可换用其他后端(`--guided-decoding-backend`)。",
    ),
)

LOG_MESSAGE_NINJA = Message(
    en=Words(
        "an extension must be compiled at run time, and ninja is not installed",
        "torch's cpp_extension builds with ninja, which was not found on PATH.",
        "Install it into the environment that runs: `pip install ninja` (and make sure its `bin` folder is on PATH).",
    ),
    zh=Words(
        "需要在运行时编译扩展,而 ninja 没有安装",
        "torch 的 cpp_extension 用 ninja 构建,但在 PATH 上没有找到它。",
        "在所用环境中安装:`pip install ninja`(并确保其 `bin` 目录在 PATH 上)。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Operations of DeepSpeed have a problem of their own."""
    if any("deepspeed/" in frame for hit in hits for frame in hit.frames):
        return None
    ninja = not hits.get("name")
    return found(
        PROBLEM,
        LOG_MESSAGE_NINJA if ninja else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if ninja else LIKELY,
        commands=("pip install ninja",) if ninja else ("rm -rf ~/.cache/torch_extensions",),
        name=hits.get("name"),
    )

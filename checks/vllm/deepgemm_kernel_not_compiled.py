"""DeepGEMM could not compile or load an FP8 kernel.

## What it means
DeepGEMM compiles each kernel on this machine when it is first used. That takes `nvcc` and `cuobjdump` of a CUDA toolkit
of 12.3 or newer (12.8 for Blackwell, 12.9 for its family targets), found through `CUDA_HOME`, and a cache folder that
holds whole files.
## What it does to a run
The engine ends while it loads FP8 weights or warms up, with an assertion of C++ code.
## What to do
Point `CUDA_HOME` to a toolkit that is new enough, clear the cache, or switch DeepGEMM off.
## How it is found
In a log, by the assertion of DeepGEMM's own files.
## References
https://github.com/deepseek-ai/DeepGEMM/blob/main/csrc/jit/compiler.hpp
https://github.com/deepseek-ai/DeepGEMM/blob/main/csrc/jit/kernel_runtime.hpp
https://github.com/deepseek-ai/DeepGEMM/pull/157
https://github.com/vllm-project/vllm/pull/49051
https://github.com/llm-d/llm-d/issues/1269
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL101", name="deepgemm-kernel-not-compiled", severity=ERROR, since="0.1")

#: nvcc that does not know the GPU, a compiler that is broken or was killed
_CAUSES = ("TOR019", "TOR017", "MEM", "HST")

SIGNATURES = (
    Signature(r"(?P<old>NVCC|NVRTC) version should be >= (?P<least>\d{1,2}\.\d)"),
    Signature(
        r"Assertion error \(\S{0,200}jit/\S{0,80}: false and \"(?P<failed>[\w ]{4,24}) failed\"",
        symptom_of=_CAUSES,
    ),
    Signature(r"Assertion error \(\S{0,200}(?P<runtime>kernel_runtime\.hpp):\d{1,5}\): exit_code == 0"),
    Signature(
        r"Assertion error \(\S{0,200}jit/\S{0,80}: "
        r"(?P<absent>std::filesystem::exists\(nvcc_path\)|not cuda_home\.empty\(\))"
    ),
    Signature(r"Assertion error \(\S{0,200}jit/\S{0,80}: [^\n]{0,20}(?P<corrupt>Corrupted JIT cache directory)"),
    Signature(r"^\s{1,12}assert cuda_home is not (?P<nowhere>None)$"),
)

WHAT = {
    "old": (
        ("the CUDA toolkit in use is older than DeepGEMM needs", "所用 CUDA 工具包比 DeepGEMM 要求的旧"),
        (
            "Its {tool} must be {least} or newer; the toolkit on PATH or in `CUDA_HOME` counts, not the CUDA of torch.",
            "其 {tool} 须为 {least} 及以上;以 PATH 或 `CUDA_HOME` 中的工具包为准,而不是 torch 的 CUDA。",
        ),
    ),
    "failed": (
        ("nvcc could not compile a kernel of DeepGEMM", "nvcc 未能编译 DeepGEMM 的内核"),
        (
            (
                "Its own message stands above: a GPU architecture that this toolkit does not know (Blackwell needs "
                "CUDA 12.8 or 12.9), a header or host compiler that does not fit, a folder without headers."
            ),
            (
                "nvcc 自己的报错在此之前:该工具包不认识的 GPU 架构(Blackwell 需要 CUDA 12.8,最好 12.9)、不相符的头"
                "文件或主机编译器、缺少头文件的目录。"
            ),
        ),
    ),
    "runtime": (
        ("DeepGEMM could not read a kernel that it had compiled", "DeepGEMM 无法读取它编译出的内核"),
        (
            (
                "It runs `cuobjdump` of the CUDA toolkit on the compiled file: the tool is missing (images that "
                "hold only the runtime of CUDA), is of an older toolkit, or the file is broken."
            ),
            (
                "它会对编译结果运行 CUDA 工具包的 `cuobjdump`:该工具缺失(只含 CUDA 运行时的镜像)、属于较旧的工具包"
                ",或文件已损坏。"
            ),
        ),
    ),
    "absent": (
        ("DeepGEMM found no `nvcc` to compile its kernels with", "DeepGEMM 找不到用来编译内核的 `nvcc`"),
        (
            (
                "It looks in `CUDA_HOME` (or beside the `nvcc` on PATH, or in /usr/local/cuda); an image that "
                "holds only the runtime of CUDA has none."
            ),
            "它在 `CUDA_HOME`(或 PATH 上的 `nvcc` 旁,或 /usr/local/cuda)中查找;只含 CUDA 运行时的镜像没有它。",
        ),
    ),
    "corrupt": (
        ("DeepGEMM's cache of compiled kernels is broken", "DeepGEMM 的内核编译缓存已损坏"),
        (
            "A compilation was cut off, or several ranks or nodes wrote into one folder on a shared disk.",
            "编译被中断,或多个 rank、节点向共享磁盘上的同一目录写入。",
        ),
    ),
}
WHAT["nowhere"] = WHAT["absent"]

MESSAGE = Message(
    en=Words(
        "{what}",
        "DeepGEMM compiles FP8 kernels for Hopper and Blackwell when they are first used. {why}",
        "Install a CUDA toolkit with nvcc and cuobjdump (12.9 or newer is best) and set `export "
        "CUDA_HOME=/usr/local/cuda-12.9`, then clear the cache: `rm -rf ~/.deep_gemm ~/.cache/vllm/deep_gemm "
        "~/.cache/deep_gemm`. Or do without: `VLLM_USE_DEEP_GEMM=0` (SGLang: `SGLANG_ENABLE_JIT_DEEPGEMM=0`, older "
        "`SGL_ENABLE_JIT_DEEPGEMM=0`). `DG_JIT_DEBUG=1` prints the commands.",
    ),
    zh=Words(
        "{what_zh}",
        "DeepGEMM 在首次使用时为 Hopper 与 Blackwell 编译 FP8 内核。{why_zh}",
        "安装带 nvcc 与 cuobjdump 的 CUDA 工具包(最好 12.9 及以上)并 `export CUDA_HOME=/usr/local/cuda-12.9`,然后清空"
        "缓存:`rm -rf ~/.deep_gemm ~/.cache/vllm/deep_gemm ~/.cache/deep_gemm`。或不使用它:`VLLM_USE_DEEP_GEMM=0`"
        "(SGLang:`SGLANG_ENABLE_JIT_DEEPGEMM=0`,旧版 `SGL_ENABLE_JIT_DEEPGEMM=0`)。`DG_JIT_DEBUG=1` 会打印命令。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Which step failed."""
    kind = next(name for name in WHAT if hits.get(name))
    what, why = WHAT[kind]
    tool, least = hits.get("old") or "", hits.get("least") or ""
    return found(
        PROBLEM,
        MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if kind == "old" else LIKELY,
        what=what[0],
        what_zh=what[1],
        why=why[0].format(tool=tool, least=least),
        why_zh=why[1].format(tool=tool, least=least),
    )

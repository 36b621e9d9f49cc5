"""A compiled package needs a CUDA library that is not here.

## What it means
A wheel is linked against the libraries of one CUDA major version: libcudart.so.12 of CUDA 12,
libcudart.so.13 of CUDA 13. They come from the nvidia-* packages that torch of the same CUDA brings, or from
a toolkit.
## What it does to a run
The import ends with `cannot open shared object file`.
## What to do
Bring package and torch to the same CUDA.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/vllm-project/vllm/issues/1716
https://docs.vllm.ai/en/latest/getting_started/installation/gpu/
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="CUD009", name="runtime-library-missing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:^|[^\w/.])(?<!dlerror: )lib(?P<library>cudart|cublas|cublasLt|cusparse|cusparseLt|cusolver|curand|cufft"
        r"|cupti|nvrtc|nvJitLink|nccl|cudnn|cufile|nvshmem_host)\.so\.(?P<major>\d{1,3})[\d.]{0,12}:"
        r" cannot open shared object file",
    ),
    Signature(
        r"(?P<program>(?:python|pt_main_thread)[\d.]{0,8}|bash|sh|env): error while loading shared libraries: "
        r"lib(?:cu|nv|nccl)",
        kind="sign",
    ),
)

LOG_MESSAGE_PRELOAD = Message(
    en=Words(
        "`{program}` does not start: what LD_PRELOAD loads misses `lib{library}.so.{major}`",
        "`{program}` itself needs no CUDA. A library that is loaded before it does (SGLang's torch_memory_saver, a "
        "profiler, NCCL by hand): pip puts CUDA's libraries into site-packages/nvidia, where only torch looks for "
        "them, so `import torch` works and this does not.",
        "Name their folders to the loader before the start: `export LD_LIBRARY_PATH=$(python -c 'import glob, site; "
        'print(":".join(glob.glob(site.getsitepackages()[0] + "/nvidia/*/lib")))\'):$LD_LIBRARY_PATH`, install the '
        "CUDA {major} toolkit of the system, or turn off what preloads (`--enable-memory-saver`; see `echo "
        "$LD_PRELOAD`).",
    ),
    zh=Words(
        "`{program}` 无法启动:LD_PRELOAD 中的库需要 `lib{library}.so.{major}`,而加载器找不到它",
        "`{program}` 本身不需要 CUDA,是在它之前加载的库需要(SGLang 的 torch_memory_saver、性能分析工具、手动指定的 "
        "NCCL):pip 把 CUDA 的库放在 site-packages/nvidia 下,只有 torch 会去那里找,因此 `import torch` 正常而这里失败。",
        "在启动前把这些目录告诉加载器:`export LD_LIBRARY_PATH=$(python -c 'import glob, site; "
        'print(":".join(glob.glob(site.getsitepackages()[0] + "/nvidia/*/lib")))\'):$LD_LIBRARY_PATH`,安装系统的 '
        "CUDA {major} toolkit,或关闭预加载它的功能(`--enable-memory-saver`;用 `echo $LD_PRELOAD` 查看)。",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`lib{library}.so.{major}` is missing: {what} was built for {cuda}",
        "The compiled part needs the libraries of {cuda}, and neither torch's nvidia-* packages nor the "
        "system bring them: the installed torch is of another CUDA (cu118 beside a CUDA 12 wheel, cu128 "
        "beside a CUDA 13 one), or the libraries were not installed.",
        "Compare with `python -c 'import torch; print(torch.version.cuda)'`, and install the build for "
        "that CUDA, or torch for {cuda}. Old vLLM (0.2.2 and later: CUDA 12.1) on CUDA 11.8 needs the "
        "cu118 wheels of its release page; newer vLLM wants torch as it pins it: reinstall both together "
        "(`pip install -U vllm` in a fresh environment).",
    ),
    zh=Words(
        "缺少 `lib{library}.so.{major}`:{what} 是为 {cuda} 构建的",
        "编译部分需要 {cuda} 的库,而 torch 的 nvidia-* 包和系统都没有:已安装的 torch 属于另一 CUDA(cu118 "
        "配 CUDA 12 的 wheel,cu128 配 CUDA 13 的 wheel),或这些库没有安装。",
        "用 `python -c 'import torch; print(torch.version.cuda)'` 对比,安装适合该 CUDA 的构建,或安装 "
        "{cuda} 的 torch。旧版 vLLM(0.2.2 起需要 CUDA 12.1)在 CUDA 11.8 上需使用其发布页的 cu118 wheel;较"
        "新的 vLLM 需要其锁定的 torch:在新环境中一起重装(`pip install -U vllm`)。",
    ),
)


#: torchvision and torchaudio say so of parts that nobody asked for, and go on
_OPTIONAL = re.compile(r"UserWarning: |Failed to load image Python extension")


def explain(hits: Hits) -> Finding | None:
    """Libcudart and its siblings carry the major version of CUDA in their names; cuDNN and NCCL carry their own."""
    if all(_OPTIONAL.search(hit.text) for hit in hits):
        return None
    library, major, program = hits.get("library") or "", hits.get("major"), hits.get("program")
    frames = [frame for hit in hits for frame in hit.frames]
    package = next((name for name in ("vllm", "sgl_kernel", "flash_attn", "xformers", "bitsandbytes", "torch")
                    if any(f"/{name}/" in f"/{frame}" for frame in frames[-3:])), "")  # fmt: skip
    own = library in ("cudart", "cublas", "cublasLt", "cusparse", "nvrtc", "nvJitLink")
    cuda = f"CUDA {major}" if own else "another CUDA"
    return found(
        PROBLEM,
        LOG_MESSAGE_PRELOAD if program else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        program=program or "",
        library=library,
        major=major,
        what=f"`{package}`" if package else "a compiled package",
        cuda=cuda,
        confidence=CONFIRMED if own and not program else LIKELY,
        commands=("echo $LD_PRELOAD",) if program else ("python -c 'import torch; print(torch.version.cuda)'",),
    )

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

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="CUD009", name="runtime-library-missing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:^|[^\w/.])lib(?P<library>cudart|cublas|cublasLt|cusparse|cusparseLt|cusolver|curand|cufft"
        r"|cupti|nvrtc|nvJitLink|nccl|cudnn|cufile|nvshmem_host)\.so\.(?P<major>\d{1,3})[\d.]{0,12}:"
        r" cannot open shared object file",
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


def explain(hits: Hits) -> Finding | None:
    """Libcudart and its siblings carry the major version of CUDA in their names; cuDNN and NCCL carry their own."""
    library, major = hits.get("library") or "", hits.get("major")
    frames = [frame for hit in hits for frame in hit.frames]
    package = next((name for name in ("vllm", "sgl_kernel", "flash_attn", "xformers", "bitsandbytes", "torch")
                    if any(f"/{name}/" in f"/{frame}" for frame in frames[-3:])), "")  # fmt: skip
    own = library in ("cudart", "cublas", "cublasLt", "cusparse", "nvrtc", "nvJitLink")
    cuda = f"CUDA {major}" if own else "another CUDA"
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        library=library,
        major=major,
        what=f"`{package}`" if package else "a compiled package",
        cuda=cuda,
        confidence=LIKELY if not own else CONFIRMED,
        commands=("python -c 'import torch; print(torch.version.cuda)'",),
    )

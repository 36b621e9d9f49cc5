"""An extension is compiled with another CUDA than torch was built for, and its build refuses that.

## What it means
nvcc belongs to one CUDA version, the installed torch to another. What is compiled so would be linked to libraries that
torch does not load; torch, apex and others therefore compare the two.
## What it does to a run
The installation of flash-attn, apex, mamba or xformers ends, or the first use of an operation that is compiled then.
## What to do
Bring nvcc and torch to one CUDA version.
## How it is found
In a log: by the words of torch's extension builder or of apex's setup.py.
## References
https://github.com/pytorch/pytorch/blob/v2.9.0/torch/utils/cpp_extension.py
https://github.com/NVIDIA/apex/pull/323
https://github.com/NVIDIA/apex/issues/350
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="CUD017", name="extension-for-another-cuda", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"The detected CUDA version \((?P<nvcc>[\d.]{1,12})\) mismatches the version that was used to compile"),
    Signature(  # torch 2.11 raises without filling the numbers in
        r"The detected CUDA version \(%s\) mismatches the version that was used to "
        r"compile[^\n]{1,160}'(?P<nvcc>[\d.]{1,12})', '(?P<torch>[\d.]{1,12})'"
    ),
    Signature(
        r"Cuda extensions are being compiled with a version of Cuda that does not match the version used to compile"
        r" Pytorch binaries\.(?: {1,3}Pytorch binaries were compiled with Cuda (?P<torch>\d{1,3}(?:\.\d{1,3}){0,2}))?"
    ),
    Signature(
        r"^\s{0,12}PyTorch \((?P<torch>[\d.]{1,12})\)\. Please make sure to use the same CUDA versions", kind="sign"
    ),
    Signature(r"Cuda compilation tools, release (?P<nvcc>\d{1,3}\.\d{1,3}),", kind="sign"),
)
_FIRST_SIGN = 3  # position of what only tells the versions

MESSAGE = Message(
    en=Words(
        "nvcc is CUDA {nvcc} and torch was built for CUDA {torch}: the extension is not compiled",
        "A package without a ready-made wheel is compiled with the CUDA toolkit of this machine (`CUDA_HOME`, "
        "`nvcc` on PATH), and that is not the CUDA of the installed torch.",
        "Install the toolkit of torch's version and point at it: `conda install -c nvidia cuda-toolkit={torch}` or "
        "`/usr/local/cuda-{torch}`, `export CUDA_HOME=/usr/local/cuda-{torch} PATH=$CUDA_HOME/bin:$PATH`; or "
        "install a torch built for CUDA {nvcc} (`--index-url https://download.pytorch.org/whl/cu...`). Best is a "
        "ready-made wheel for this torch. Where only the minor version differs the result mostly works: apex's "
        "check may be commented out.",
    ),
    zh=Words(
        "nvcc 是 CUDA {nvcc},而 torch 为 CUDA {torch} 构建:扩展未编译",
        "没有现成 wheel 的包用本机的 CUDA 工具包(`CUDA_HOME`、PATH 上的 `nvcc`)编译,而它与已安装 torch 的 CUDA 不一"
        "致。",
        "安装与 torch 一致的工具包并指向它:`conda install -c nvidia cuda-toolkit={torch}` 或 "
        "`/usr/local/cuda-{torch}`,`export CUDA_HOME=/usr/local/cuda-{torch} PATH=$CUDA_HOME/bin:$PATH`;或安装为 "
        "CUDA {nvcc} 构建的 torch(`--index-url https://download.pytorch.org/whl/cu...`)。最好使用适合此 torch 的现成"
        " wheel。仅次版本不同时多半可用:apex 的检查可以注释掉。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """With both versions where the build printed them."""
    if all(hit.signature >= _FIRST_SIGN for hit in hits):
        return None
    told = {name: ".".join((hits.get(name) or "").split(".")[:2]) for name in ("nvcc", "torch")}
    return found(
        PROBLEM, MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        nvcc=told["nvcc"] or "X", torch=told["torch"] or "Y",
    )  # fmt: skip

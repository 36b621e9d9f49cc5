"""The cuBLAS in use crashes on H20 cards.

## What it means
cuBLAS 12.1 divides by zero when it chooses an algorithm for some matrix shapes on an H20, in fp16 and bf16. Users
report 12.1.3.1 as bad and 12.3.4.1 and newer as good; the versions between were not reported.
## What it does to a run
The process dies with `Floating point exception (core dumped)`, without a traceback, at a matrix product of the first
forward pass. Neither vLLM nor your code is at fault.
## What to do
Install torch 2.5 or newer, or nvidia-cublas-cu12 12.4.5.8, and take older CUDA folders out of LD_LIBRARY_PATH.
## How it is found
The GPU's name, and the version of cuBLAS: the file that is loaded (`--deep`), the nvidia-cublas package, an older copy
in LD_LIBRARY_PATH, or the version that the torch release pins.
In a log: by the message that the program or the driver prints.
## References
https://github.com/vllm-project/vllm/issues/4392
https://github.com/hiyouga/LLaMA-Factory/issues/2750
https://github.com/pytorch/pytorch/issues/133548
"""

from __future__ import annotations

import re

from doctor import data
from doctor.checks.cuda._helpers import is_older, wheel_version
from doctor.checks.torch._helpers import cuda_tag, used_gpus
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.cuda import Cuda
from doctor.facts.deep import Deep
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.world import World

PROBLEM = Problem(id="CUD006", name="h20-cublas", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Caught signal 8 \(Floating point exception"),
    Signature(
        r"^(?:[^\n]{0,200}: line \d{1,6}: {1,3}\d{1,9} )?Floating point exception(?: ?\(core dumped\))?",
    ),
    Signature(r"\bNVIDIA H20\b|\bH20-3e\b", kind="sign"),
    Signature(r"cublasLt", kind="sign", keywords=("cublasLt",)),
)

LOG_MESSAGE = Message(
    en=Words(
        "the process died of a floating point exception in cuBLAS, a bug that H20 cards meet",
        "cuBLAS 12.1 divides by zero when it chooses an algorithm for some matrix shapes on an H20, in "
        "fp16 and bf16. Neither vLLM nor your code is at fault.",
        "Install torch 2.5 or newer (its wheels bring cuBLAS 12.4), or `pip install "
        "nvidia-cublas-cu12==12.4.5.8`, and take older CUDA folders out of LD_LIBRARY_PATH. Check which "
        "file is loaded: `grep cublasLt /proc/PID/maps`.",
    ),
    zh=Words(
        "进程在 cuBLAS 中因浮点异常退出,这是 H20 显卡会遇到的缺陷",
        "cuBLAS 12.1 在 H20 上为某些矩阵形状选择算法时会除以零,fp16 和 bf16 均如此。与 vLLM 和你的代码无关。",
        "安装 torch 2.5 及以上(其 wheel 带 cuBLAS 12.4),或 `pip install nvidia-cublas-cu12==12.4.5.8`,并"
        "从 LD_LIBRARY_PATH 中去掉旧的 CUDA 目录。确认实际加载的文件:`grep cublasLt /proc/PID/maps`。",
    ),
)

LOG_MESSAGE_MAYBE = Message(
    en=Words(
        "the process died of a floating point exception (signal 8), an integer division by zero",
        "On H20 cards this is a bug of cuBLAS 12.1, whatever runs there. On other cards look for a "
        "compiled extension that divides by a size of zero.",
        "On an H20 install torch 2.5 or newer (cuBLAS 12.4) and take older CUDA folders out of "
        "LD_LIBRARY_PATH. Elsewhere run with `python -X faulthandler` to see the call.",
    ),
    zh=Words(
        "进程因浮点异常(信号 8)退出,即整数除以零",
        "在 H20 显卡上,这是 cuBLAS 12.1 的缺陷,与运行的程序无关。在其他显卡上,请查找以零大小作除数的编译扩展。",
        "H20 请安装 torch 2.5 及以上(cuBLAS 12.4),并从 LD_LIBRARY_PATH 中去掉旧的 CUDA 目录。其他情况用 "
        "`python -X faulthandler` 运行以查看出错的调用。",
    ),
)

GOOD = "12.3.4.1"
BAD = "12.1.3.1"

MESSAGE = Message(
    en=Words(
        "{gpu} with cuBLAS {version}: matrix products can kill the process",
        "cuBLAS before {good} divides by zero on H20 cards for some shapes, in fp16 and bf16: `Floating point "
        "exception (core dumped)`, without a traceback. This is a fault of cuBLAS, not of your code. Its version is "
        "from {source}.",
        "Install torch 2.5 or newer, or cuBLAS 12.4.5.8, and take older CUDA folders out of LD_LIBRARY_PATH.",
    ),
    zh=Words(
        "{gpu} 配 cuBLAS {version}:矩阵乘法可能使进程崩溃",
        "早于 {good} 的 cuBLAS 在 H20 上对某些形状(fp16 和 bf16)会除以零:"
        "`Floating point exception (core dumped)`,没有 traceback。"
        "这是 cuBLAS 的缺陷,与你的代码无关。版本来源:{source}。",
        "安装 torch 2.5 或更新版本,或 cuBLAS 12.4.5.8,并把旧的 CUDA 目录从 LD_LIBRARY_PATH 去掉。",
    ),
)

_H20 = re.compile(r"\bH20\b")


def _cublas(packages: Packages, cuda: Cuda | None, deep: Deep | None) -> tuple[str, str] | None:
    """(version, where it is from) of the cublasLt that would be loaded, as well as that can be told."""
    for mapped in deep.mapped if deep is not None else ():
        if mapped.stem == "libcublasLt" and mapped.version and mapped.version.count("."):
            return mapped.version, mapped.path
    wheel = wheel_version(packages, "libcublasLt")
    for each in cuda.shadowing if cuda is not None else ():
        if each.stem == "libcublasLt" and each.version and is_older(each.version, GOOD):
            return each.version, f"{each.path} in LD_LIBRARY_PATH"
    if wheel:
        return wheel, "the nvidia-cublas package"
    build = packages.torch_build
    release = data.torch_release(build.version) if build is not None else None
    if build is None or release is None or not release.cuda or not release.cublas or packages.conda:
        return None
    same = cuda_tag(build) == f"cu{release.cuda.replace('.', '')}"
    pinned = release.cublas.removeprefix("==")
    return (pinned, f"what torch {build.version} pins") if same and pinned.replace(".", "").isdigit() else None


@check(PROBLEM)
def h20_cublas(gpus: Gpus, packages: Packages, cuda: Cuda | None, deep: Deep | None, world: World | None) -> Judgement:
    """A crash of a product in `--deep` confirms it."""
    card = next((gpu for gpu in used_gpus(gpus, world) if _H20.search(gpu.name or "")), None)
    cublas = _cublas(packages, cuda, deep) if card is not None else None
    if card is None or cublas is None or not is_older(cublas[0], GOOD):
        return
    products = deep.matmuls if deep is not None else ()
    crashed = any(each.signal == "SIGFPE" for each in products)
    reported_bad = cublas[0] == BAD or bool(is_older(cublas[0], BAD))
    yield found(
        PROBLEM,
        MESSAGE,
        severity=ERROR if reported_bad or crashed else WARNING,
        confidence=CONFIRMED if crashed else LIKELY,
        where=Where(gpu=card.index),
        commands=('pip install "nvidia-cublas-cu12==12.4.5.8"',),
        evidence=(Evidence(cublas[1], f"cuBLAS {cublas[0]}"),),
        gpu=card.label,
        version=cublas[0],
        good=GOOD,
        source=cublas[1],
    )


def explain(hits: Hits) -> Finding | None:
    """The card or the library in the stack makes it certain enough."""
    h20 = bool(hits.of(2)) or "H20" in hits.context
    inside = bool(hits.of(3))
    if not hits.of(0) and not hits.of(1):
        return None
    return found(
        PROBLEM,
        LOG_MESSAGE if h20 or inside else LOG_MESSAGE_MAYBE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if h20 and inside else LIKELY,
    )

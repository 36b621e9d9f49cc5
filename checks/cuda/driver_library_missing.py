"""A CUDA build looks for the NVIDIA driver's library and does not find it.

## What it means
libcuda.so.1 belongs to the NVIDIA driver, not to a toolkit or wheel. It is missing on machines without an
NVIDIA GPU (AMD with ROCm, CPU only), in containers that were started without the NVIDIA runtime, and while
images are built.
## What it does to a run
The import of a package with CUDA code fails.
## What to do
Give the container the driver, or install the build for this machine's hardware.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/ggml-org/llama.cpp/issues/7822
https://github.com/sgl-project/sglang/issues/4778
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="CUD010", name="driver-library-missing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^(?:\w{1,40}\.)?(?:ImportError|OSError): (?:[^\n]{0,200}: )?libcuda\.so(?:\.1)?: cannot"
        r" open shared object file",
    ),
    Signature(
        r"(?:^|/)(?P<program>[\w.\-]{1,60}): error while loading shared libraries: libcuda\.so\.1: cannot open",
        keywords=("error while loading shared libraries: libcuda",),
    ),
    Signature(
        r"Could not load library (?P<part>libcudnn\w{1,40}\.so\.\d)\. Error: libcuda\.so: cannot open shared",
        keywords=("Error: libcuda.so: cannot open",),
    ),
    Signature(r"detected platform rocm|\bis_rocm: True\b|HSA_OVERRIDE_GFX", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the NVIDIA driver's library `libcuda.so.1` is not on this machine, and {package} needs it",
        "It comes with the driver only. Missing are usually the GPUs of the container (started without "
        "the NVIDIA runtime) or an NVIDIA GPU at all: on AMD machines with ROCm and on CPU machines CUDA "
        "builds cannot run.",
        "Check `nvidia-smi`. With NVIDIA GPUs start the container with `--gpus all` and the NVIDIA "
        "container toolkit. On an AMD GPU install the ROCm build of {package} (built for HIP), on a "
        "machine without GPU the CPU build.",
    ),
    zh=Words(
        "本机没有 NVIDIA 驱动的库 `libcuda.so.1`,而 {package} 需要它",
        "该库只随驱动提供。通常是容器没有 GPU(启动时没有使用 NVIDIA runtime),或根本没有 NVIDIA GPU:在使用"
        " ROCm 的 AMD 机器和纯 CPU 机器上无法运行 CUDA 构建。",
        "检查 `nvidia-smi`。有 NVIDIA GPU 时用 `--gpus all` 和 NVIDIA container toolkit 启动容器。AMD "
        "GPU 请安装 {package} 的 ROCm(HIP)构建;没有 GPU 的机器请安装 CPU 构建。",
    ),
)

LOG_MESSAGE_ROCM = Message(
    en=Words(
        "this machine runs ROCm (AMD), and the installed {package} is built for CUDA",
        "It links `libcuda.so.1`, a library of the NVIDIA driver that cannot be there. pip's default "
        "wheels of this package are CUDA builds.",
        "Uninstall it and install the ROCm build, or build it from source for HIP; use a ROCm container "
        "of the engine (`rocm/vllm`, `lmsysorg/sglang` with a rocm tag).",
    ),
    zh=Words(
        "本机运行 ROCm(AMD),而已安装的 {package} 是 CUDA 构建",
        "它链接了 NVIDIA 驱动的库 `libcuda.so.1`,此处不可能存在。pip 默认的 wheel 是 CUDA 构建。",
        "卸载它,安装 ROCm 构建,或针对 HIP 从源代码编译;使用该引擎的 ROCm 容器(`rocm/vllm`、带 rocm 标签的"
        " `lmsysorg/sglang`)。",
    ),
)

LOG_MESSAGE_NAME = Message(
    en=Words(
        "cuDNN does not find `libcuda.so`: the driver's library has another name here",
        "`{part}` of cuDNN 8 is there; it asks for `libcuda.so` without a number, while torch takes `libcuda.so.1`. "
        "On WSL 2 the file lies in /usr/lib/wsl/lib, of which the loader's list has only the numbered name; in a "
        "container or a plain driver package the name without a number is missing. cuDNN itself is whole.",
        "WSL: `export LD_LIBRARY_PATH=/usr/lib/wsl/lib:$LD_LIBRARY_PATH`. Else make the name beside the driver's "
        "file: `ldconfig -p | grep libcuda.so.1` shows its folder, there `sudo ln -s libcuda.so.1 libcuda.so`, then "
        "`sudo ldconfig`. A torch of 2.4 or newer comes with cuDNN 9.",
    ),
    zh=Words(
        "cuDNN 找不到 `libcuda.so`:驱动的库在此处只有另一名称",
        "cuDNN 8 的 `{part}` 是存在的;它请求不带编号的 `libcuda.so`,而 torch 使用 `libcuda.so.1`。WSL 2 上该文件位于 "
        "/usr/lib/wsl/lib,加载器的列表中只有带编号的名称;容器或普通驱动包中缺少不带编号的名称。cuDNN 本身是完整的。",
        "WSL:`export LD_LIBRARY_PATH=/usr/lib/wsl/lib:$LD_LIBRARY_PATH`。否则在驱动文件旁建立该名称:`ldconfig -p | "
        "grep libcuda.so.1` 显示其目录,在该目录执行 `sudo ln -s libcuda.so.1 libcuda.so`,再 `sudo ldconfig`。torch "
        "2.4 及以上自带 cuDNN 9。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Lines of HIP show an AMD machine."""
    if part := hits.get("part"):
        return found(
            PROBLEM, LOG_MESSAGE_NAME, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, part=part
        )
    needed = [*hits.of(0), *hits.of(1)]
    if not needed:
        return None
    rocm = bool(hits.of(3)) or "is_rocm: True" in hits.context or "rocm" in hits.versions.get("torch", "")
    frames = [frame for hit in needed for frame in hit.frames]
    package = frames[-1].rpartition("site-packages/")[2].partition("/")[0] if frames else hits.get("program") or ""
    return found(
        PROBLEM,
        LOG_MESSAGE_ROCM if rocm else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if not rocm else LIKELY,
        package=f"`{package.replace('_', '-')}`" if package and not package.endswith(".py") else "the package",
    )

"""CUDA's run-time compiler (NVRTC) lacks a part, or does not know this GPU.

## What it means
NVRTC compiles kernels while a program runs: TorchScript fusions, CuPy, DeepGEMM, some attention kernels. It loads a
second library, libnvrtc-builtins, of exactly its own version, and knows only GPUs of its time.
## What it does to a run
The first kernel that is compiled so fails; everything else works.
## What to do
Make the missing library findable, or take a build for a newer CUDA.
## How it is found
In a log: by NVRTC's words.
## References
https://github.com/ali-vilab/dreamtalk/issues/3
https://github.com/pytorch/pytorch/issues/58101
https://docs.nvidia.com/cuda/nvrtc/index.html
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="CUD018", name="run-time-compiler-incomplete", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"nvrtc: error: failed to open (?P<library>libnvrtc-builtins[\w.\-]{1,40}?|nvrtc-builtins[\w.\-]"
            r"{1,40}?)\.?$"
        ),
        Message(
            en=Words(
                "NVRTC, CUDA's run-time compiler, does not find its library `{library}`",
                "It must be of exactly the version that torch was built with. Some wheels carry it under "
                "another name, an environment mixes CUDA versions, or the folder is not searched. Torch itself "
                "works, only kernels compiled at run time (TorchScript fusion, CuPy, extensions) fail.",
                "`find / -name 'libnvrtc-builtins*' 2>/dev/null` shows what is there. In the environment of "
                "pip: `pip install --force-reinstall nvidia-cuda-nvrtc-cu12` in the version of torch's CUDA, "
                "and `export LD_LIBRARY_PATH` to its lib folder. With an old wheel link it: `ln -s "
                "libnvrtc-builtins.so {library}` in site-packages/torch/lib. Or go without the fusion: "
                "`torch._C._jit_override_can_fuse_on_gpu(False)`, `PYTORCH_JIT=0`.",
            ),
            zh=Words(
                "CUDA 运行时编译器 NVRTC 找不到其库 `{library}`",
                "它的版本必须与构建 torch 的 CUDA 完全一致。有些 wheel 以其他文件名附带它,环境混用了多个 CUDA "
                "版本,或其目录不在搜索路径中。torch 本身正常,只有运行时编译的内核(TorchScript 融合、CuPy、扩展)"
                "会失败。",
                "用 `find / -name 'libnvrtc-builtins*' 2>/dev/null` 查看现有文件。pip 环境:按 torch 的 CUDA 版"
                "本 `pip install --force-reinstall nvidia-cuda-nvrtc-cu12`,并把其 lib 目录加入 "
                "`LD_LIBRARY_PATH`。旧 wheel 可建链接:在 site-packages/torch/lib 中 `ln -s "
                "libnvrtc-builtins.so {library}`。或关闭融合:`torch._C._jit_override_can_fuse_on_gpu(False)`、"
                "`PYTORCH_JIT=0`。",
            ),
        ),
    ),
    (
        r"nvrtc: error: invalid value for --gpu-architecture \(-arch\)",
        Message(
            en=Words(
                "CUDA's run-time compiler (NVRTC) is older than this GPU and does not know its architecture",
                "The NVRTC that the program loads belongs to an older CUDA than the card needs (RTX 50: 12.8, "
                "GB10: 12.9 or 13.0, RTX 40: 11.8). Kernels compiled at run time cannot be built for it.",
                "Install torch and the package that compiles for a newer CUDA (`--index-url "
                "https://download.pytorch.org/whl/cu128` or newer), upgrade `nvidia-cuda-nvrtc-cu12` with "
                "them, and take an older CUDA out of LD_LIBRARY_PATH and CUDA_HOME. Until then switch off what "
                "compiles at run time (TorchScript: `PYTORCH_JIT=0`).",
            ),
            zh=Words(
                "CUDA 运行时编译器(NVRTC)比该 GPU 旧,不认识其架构",
                "程序加载的 NVRTC 属于较旧的 CUDA(RTX 50 需要 12.8,GB10 需要 12.9 或 13.0,RTX 40 需要 11.8),无"
                "法为该卡编译运行时内核。",
                "安装面向较新 CUDA 的 torch 与相应软件包(`--index-url https://download.pytorch.org/whl/cu128` "
                "或更新),同时升级 `nvidia-cuda-nvrtc-cu12`,并从 LD_LIBRARY_PATH 与 CUDA_HOME 中去掉旧 CUDA。在"
                "此之前关闭运行时编译(TorchScript:`PYTORCH_JIT=0`)。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)

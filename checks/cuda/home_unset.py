"""A package is to be compiled and no CUDA toolkit was found.

## What it means
torch's wheels bring the libraries of CUDA but not its compiler. Packages that come as source (flash-attn,
apex, extensions of DeepSpeed) need nvcc, found through CUDA_HOME, PATH or /usr/local/cuda.
## What it does to a run
The installation, or the first use, ends with an OSError.
## What to do
Install a ready-made wheel, or a toolkit of torch's CUDA version.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/pytorch/pytorch/blob/v2.9.0/torch/utils/cpp_extension.py
https://github.com/Dao-AILab/flash-attention/releases
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="CUD013", name="home-unset", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"CUDA_HOME environment variable is not set\. Please set it to your CUDA install root"),
    Signature(
        r"NameError: name 'bare_metal_version' is not defined"
    ),  # setup.py of mamba-ssm and causal-conv1d without nvcc
    Signature(
        r"TypeError: unsupported operand type\(s\) for \+: 'NoneType' and 'str'",
        frame=r":get_cuda_bare_metal_version$",
        own_code=True,
    ),  # setup.py of apex and what copied it: CUDA_HOME is None
)

LOG_MESSAGE = Message(
    en=Words(
        "a CUDA extension was to be compiled, and no CUDA toolkit was found (`CUDA_HOME`)",
        "Either pip found no ready-made wheel and builds from source, or a library compiles a kernel while it runs "
        "(DeepSpeed, FlashInfer, extensions of torch). Both need nvcc; torch's own CUDA libraries have no compiler.",
        "Prefer a ready-made wheel (flash-attn: the file on its release page for your torch, CUDA and "
        "Python; bitsandbytes and vLLM have wheels). Otherwise install the toolkit of torch's CUDA "
        "(`conda install -c nvidia cuda-nvcc`, or NVIDIA's package) and `export "
        "CUDA_HOME=/usr/local/cuda`, then `pip install --no-build-isolation ...`.",
    ),
    zh=Words(
        "需要编译 CUDA 扩展,但没有找到 CUDA 工具包(`CUDA_HOME`)",
        "要么 pip 没有找到现成的 wheel,于是从源代码编译;要么某个库在运行时编译内核(DeepSpeed、FlashInfer、torch 的扩"
        "展)。两者都需要 nvcc;torch 自带的 CUDA 库不含编译器。",
        "优先使用现成的 wheel(flash-attn:发布页上对应 torch、CUDA、Python 的文件;bitsandbytes 和 vLLM 有 "
        "wheel)。否则安装与 torch 的 CUDA 相同的工具包(`conda install -c nvidia cuda-nvcc`,或 NVIDIA 的安"
        "装包)并 `export CUDA_HOME=/usr/local/cuda`,然后 `pip install --no-build-isolation ...`。",
    ),
)

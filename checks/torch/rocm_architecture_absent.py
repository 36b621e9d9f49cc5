"""The ROCm libraries hold no code for this AMD GPU.

## What it means
A ROCm build of torch, and rocBLAS below it, hold machine code for a list of gfx targets. Consumer and integrated GPUs
are often not on it, although a relative is whose code runs on them.
## What it does to a run
The first kernel fails with an invalid device function or an invalid instruction set, or rocBLAS finds no library for
the target.
## What to do
Install a build for the card, or pretend to be its listed relative with HSA_OVERRIDE_GFX_VERSION.
## How it is found
In a log: by the words of HIP, HSA or rocBLAS.
## References
https://github.com/pytorch/pytorch/issues/164346
https://github.com/ROCm/legacy-rocm-build/issues/2536
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR047", name="rocm-architecture-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"HIP error: (?:invalid device function|no kernel image is available for execution on the device|d"
        r"evice kernel image is invalid|shared object initialization failed)"
    ),
    Signature(r"HSA_STATUS_ERROR_INVALID_ISA"),
    Signature(
        r"rocBLAS error: (?:Cannot read|Could not (?:load|initialize)) [^\n]{0,200}(?:GPU arch ?: (?P<arch"
        r">gfx\w{2,8})|Tensile)"
    ),
    Signature(r"(?:hipErrorNoBinaryForGpu|Unable to find code object for all current devices)"),
    # hipBLASLt and MIOpen, without which some programs go on
    Signature(
        r"rocblaslt error: (?:Cannot read|Could not load) [^\n]{0,200}TensileLibrary_lazy_(?P<lazy>gfx\w{2,8})",
        symptom_of=("MEM", "HST", "NCC"),
    ),
    Signature(
        r"MIOpen\S{0,10}: Error \[SetIsaName\][^\n]{0,100}--(?P<isa>gfx\w{2,8})[^\n]{0,60}INVALID_ARGUMENT",
        symptom_of=("MEM", "HST", "NCC"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the installed ROCm build holds no code for this AMD GPU (its gfx architecture)",
        "ROCm wheels are compiled for a list of gfx targets. `rocminfo | grep gfx` names the card's; `python "
        '-c "import torch; print(torch.cuda.get_arch_list())"` the build\'s. An HSA_OVERRIDE_GFX_VERSION that '
        "does not suit the card gives the same errors, and so does an integrated AMD GPU that counts as the first one.",
        "With an integrated GPU beside the card show only the card (`export HIP_VISIBLE_DEVICES=1`). Else install a "
        "build for the target: a newer torch for a newer ROCm (`--index-url "
        "https://download.pytorch.org/whl/rocm7.0`) or AMD's wheels for that gfx. Until there is one, run as the "
        "nearest listed relative: `export HSA_OVERRIDE_GFX_VERSION=10.3.0` (gfx103x), `11.0.0` (gfx110x, gfx115x), "
        "`9.0.0` (gfx90c); with ROCm that knows the card take the variable away. Reinstall vLLM, flash-attn and "
        "bitsandbytes for the same target (`PYTORCH_ROCM_ARCH`). Where hipBLASLt alone lacks it: `export "
        "TORCH_BLAS_PREFER_HIPBLASLT=0 DISABLE_ADDMM_CUDA_LT=1`.",
    ),
    zh=Words(
        "已安装的 ROCm 构建没有该 AMD GPU(gfx 架构)的代码",
        'ROCm 的 wheel 只为一组 gfx 目标编译。`rocminfo | grep gfx` 显示显卡的目标;`python -c "import torch; '
        'print(torch.cuda.get_arch_list())"` 显示构建包含的目标。不适合该卡的 HSA_OVERRIDE_GFX_VERSION 会导致同'
        "样的错误。",
        "除显卡外还有核显时,只让显卡可见(`export HIP_VISIBLE_DEVICES=1`)。否则安装支持该目标的构建:面向更新 ROCm 的较"
        "新 torch(`--index-url https://download.pytorch.org/whl/rocm7.0`)或 AMD 为该 gfx 提供的 wheel。在此之前可按最"
        "接近的受支持型号运行:`export HSA_OVERRIDE_GFX_VERSION=10.3.0`(gfx103x)、`11.0.0`(gfx110x、gfx115x)、"
        "`9.0.0`(gfx90c);若 ROCm 已支持该卡,请去掉该变量。并为同一目标重新安装 vLLM、flash-attn、"
        "bitsandbytes(`PYTORCH_ROCM_ARCH`)。若只有 hipBLASLt 不支持:`export "
        "TORCH_BLAS_PREFER_HIPBLASLT=0 DISABLE_ADDMM_CUDA_LT=1`。",
    ),
)

LOG_CONFIDENCE = LIKELY

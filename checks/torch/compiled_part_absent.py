"""A package is imported without the part of it that a compiler makes.

## What it means
Packages with CUDA kernels are Python files and a compiled module (`_turbomind`, `awq_ext`, `selective_scan_cuda`). The
Python files alone come from a source tree that was not built, from `pip install` that skipped or failed the build, or
from a wheel for another Python or platform.
## What it does to a run
The import, or the first use of the kernels, ends with ModuleNotFoundError of a name that is on no index.
## What to do
Leave the source tree; install a ready-made wheel, or build the package.
## How it is found
In a log, by the name of the module.
## References
https://github.com/hpcaitech/ColossalAI/issues/5409
https://mmcv.readthedocs.io/en/latest/get_started/build.html
https://github.com/InternLM/lmdeploy/issues/340
https://github.com/casper-hansen/AutoAWQ_kernels
https://github.com/state-spaces/mamba
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR051", name="compiled-part-absent", severity=ERROR, since="0.1")

#: these are no part of flash-attn's wheel; they are built from its repository, of a release that still has them
_FLASH = "git+https://github.com/Dao-AILab/flash-attention@v2.5.8#subdirectory=csrc/"

#: pattern of compiled modules -> (package, what to install)
PARTS = (
    (r"_turbomind", "lmdeploy", "lmdeploy"),
    (r"awq_ext|awq_v2_ext|exl_ext|exlv2_ext", "AutoAWQ", "autoawq-kernels"),
    (r"awq_inference_engine", "llm-awq", "git+https://github.com/mit-han-lab/llm-awq#subdirectory=awq/kernels"),
    (r"exllama_kernels|exllamav2_kernels|autogptq_\w{1,20}_\d{2,3}", "AutoGPTQ", "auto-gptq"),
    (r"gptqmodel_\w{1,30}", "GPTQModel", "gptqmodel"),
    (r"selective_scan_cuda", "mamba-ssm", "mamba-ssm"),
    (r"causal_conv1d_cuda", "causal-conv1d", "causal-conv1d"),
    (r"deep_ep_cpp", "DeepEP", "git+https://github.com/deepseek-ai/DeepEP"),
    (r"grouped_gemm_backend", "grouped_gemm", "grouped_gemm"),
    (r"fused_dense_lib", "flash-attn's extra kernels", _FLASH + "fused_dense_lib"),
    (r"dropout_layer_norm", "flash-attn's extra kernels", _FLASH + "layer_norm"),
    (r"xentropy_cuda_lib", "flash-attn's extra kernels", _FLASH + "xentropy"),
    (r"rotary_emb", "flash-attn's extra kernels", _FLASH + "rotary"),
)

SIGNATURES = (
    Signature(
        r"^(?:ModuleNotFoundError: |ImportError: )?No module named '(?P<module>_turbomind|awq_(?:v2_)?ext|exlv?2?_ext"
        r"|awq_inference_engine|exllama(?:v2)?_kernels|autogptq_\w{1,20}_\d{2,3}|gptqmodel_\w{1,30}|selective_scan_cuda"
        r"|causal_conv1d_cuda|deep_ep_cpp|grouped_gemm_backend|fused_dense_lib|dropout_layer_norm|xentropy_cuda_lib"
        r"|rotary_emb)'"
    ),
    Signature(
        r"^(?:ModuleNotFoundError: |ImportError: )?No module named '"
        r"(?P<whose>(?!vllm\b|torch\b|triton\b|flash_attn\b|transformer_engine\b)[A-Za-z_]\w{0,60})"
        r"(?P<inner>(?:\.\w{1,40}){0,4}\.(?:_C|_ext|_cuda|\w{1,40}_cuda|\w{1,40}_ext)(?:\.\w{1,40})?)'",
        keywords=("._C'", "._C.", "._ext", "_cuda'", "_ext'"),
        symptom_of=("BNB", "FLA", "VLL"),
    ),
    Signature(
        r"^ImportError: cannot import name '(?P<part>_C|_ext|\w{1,40}_cuda)' from "
        r"'(?P<owner>(?!vllm\b|torch\b|triton\b|flash_attn\b)[A-Za-z_]\w{0,60})(?:\.\w{1,40}){0,4}'",
        keywords=("name '_C'", "name '_ext'", "_cuda' from"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "{package} was imported without its compiled part (`{module}`)",
        "Its Python files were found and the extension was not: the command ran inside a source tree that was not "
        "built, the installation skipped or failed the build (no nvcc, no compiler), or the wheel was made for another "
        "Python, CUDA or platform.",
        "See which copy is imported (the folder in the traceback); if that is a clone, start from another folder. "
        "Reinstall a ready-made wheel: `pip install --force-reinstall --no-cache-dir {install}`, or build it from "
        "source with nvcc of torch's CUDA: `pip install --no-build-isolation --no-cache-dir {install}`.",
    ),
    zh=Words(
        "导入的 {package} 缺少编译好的部分(`{module}`)",
        "找到了它的 Python 文件而没有扩展模块:命令在未编译的源代码目录中运行,安装时跳过编译或编译失败(没有 nvcc、编译"
        "器),或 wheel 属于其他 Python、CUDA 或平台。",
        "查看导入的是哪一份(异常栈中的目录);若是克隆目录,换一个目录启动。重装现成的 wheel:`pip install "
        "--force-reinstall --no-cache-dir {install}`,或用与 torch 的 CUDA 相符的 nvcc 从源码编译:`pip install "
        "--no-build-isolation --no-cache-dir {install}`。",
    ),
)

LOG_MESSAGE_OWN = Message(
    en=Words(
        "`{package}` is installed without its compiled part (`{module}`)",
        "Its Python files are there and the extension in C++ or CUDA is not: it was installed where no nvcc or no GPU "
        "was found and skipped the build, the lite variant of it is installed (mmcv), or the command runs inside its "
        "source folder, where nothing was built.",
        "`python -c 'import {package}; print({package}.__path__)'`: if that is a clone in the working folder, start "
        "elsewhere. Take the wheel that its project offers for this torch and CUDA, or build it with nvcc of torch's "
        "CUDA: `export CUDA_HOME=/usr/local/cuda FORCE_CUDA=1 TORCH_CUDA_ARCH_LIST=8.0`, then `pip install "
        "--no-build-isolation --no-cache-dir --force-reinstall` with its source (ColossalAI: `BUILD_EXT=1`, mmcv: "
        "`MMCV_WITH_OPS=1`).",
    ),
    zh=Words(
        "已安装的 `{package}` 没有编译好的部分(`{module}`)",
        "Python 文件存在,而 C++ 或 CUDA 扩展不存在:安装时没有 nvcc 或 GPU 而跳过了编译,安装的是精简版(mmcv),或命令在其"
        "未编译的源代码目录中运行。",
        "`python -c 'import {package}; print({package}.__path__)'`:若是工作目录中的克隆,换个目录启动。使用该项目为此 "
        "torch 与 CUDA 提供的 wheel,或用与 torch 的 CUDA 相符的 nvcc 编译:`export CUDA_HOME=/usr/local/cuda "
        "FORCE_CUDA=1 TORCH_CUDA_ARCH_LIST=8.0`,再对其源码 `pip install --no-build-isolation --no-cache-dir "
        "--force-reinstall`(ColossalAI:`BUILD_EXT=1`,mmcv:`MMCV_WITH_OPS=1`)。",
    ),
)

MESSAGES = (LOG_MESSAGE, LOG_MESSAGE_OWN)


def explain(hits: Hits) -> Finding:
    """With the package that the module belongs to."""
    whose = hits.get("whose") or hits.get("owner")
    if whose:
        return found(
            PROBLEM, LOG_MESSAGE_OWN, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, package=whose,
            module=whose + (hits.get("inner") or f".{hits.get('part')}"),
        )  # fmt: skip
    module = hits.get("module") or ""
    package, install = next((each[1:] for each in PARTS if re.fullmatch(each[0], module)), (module, module))
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        module=module,
        package=package,
        install=install,
    )

"""The CUDA toolkit that torch would compile with is of another major version than torch.

## What it means
nvcc is CUDA 11 and torch CUDA 12, or the like. torch refuses to build extensions with such a pair.
## What it does to a run
Installing flash-attn from source, or anything that builds an extension of torch, ends with `The detected CUDA version
mismatches the version that was used to compile PyTorch`. What is compiled already runs.
## What to do
Point CUDA_HOME at a toolkit of torch's major version.
## How it is found
The toolkit that torch would take (CUDA_HOME, CUDA_PATH, nvcc on PATH, /usr/local/cuda), its nvcc, and torch's version
file. Where no other toolkit would fit, only one that CUDA_HOME or CUDA_PATH names is spoken of.
## References
https://github.com/pytorch/pytorch/blob/v2.6.0/torch/utils/cpp_extension.py
https://github.com/pytorch/pytorch/issues/73047
"""

from __future__ import annotations

from doctor.checks.torch._helpers import major
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import INFO, WARNING, Problem
from doctor.facts.cuda import Cuda
from doctor.facts.packages import Packages

PROBLEM = Problem(id="CUD003", name="nvcc-of-another-major", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "nvcc is CUDA {nvcc} ({source}), and torch is CUDA {torch}",
        "torch refuses to build extensions with it: installing flash-attn from source ends with `The detected CUDA "
        "version mismatches`. What is compiled already runs.",
        "Install a toolkit of CUDA {major} where something must be compiled.",
    ),
    zh=Words(
        "nvcc 是 CUDA {nvcc}({source}),而 torch 是 CUDA {torch}",
        "torch 拒绝用它编译扩展:从源码安装 flash-attn 会以 `The detected CUDA version mismatches` 失败。"
        "已编译好的部分不受影响。",
        "如需编译,请安装 CUDA {major} 的工具包。",
    ),
)

ANOTHER = Message(
    en=Words(
        "nvcc is CUDA {nvcc} ({source}), torch is CUDA {torch}, and `{other}` would fit",
        "Of several toolkits torch takes one of another major version, and refuses to build extensions with it: `The "
        "detected CUDA version mismatches`.",
        "Point CUDA_HOME at `{other}`.",
    ),
    zh=Words(
        "nvcc 是 CUDA {nvcc}({source}),torch 是 CUDA {torch},而 `{other}` 才匹配",
        "有多个工具包时,torch 取到了主版本不同的一个,会拒绝用它编译扩展:`The detected CUDA version mismatches`。",
        "让 CUDA_HOME 指向 `{other}`。",
    ),
)


@check(PROBLEM)
def nvcc_of_another_major(cuda: Cuda, packages: Packages) -> Judgement:
    """Compare major versions, as torch does; DeepSpeed's own, stricter rule is DSP003."""
    build = packages.torch_build
    if build is None or build.cuda is None or cuda.nvcc_version is None:
        return
    if major(cuda.nvcc_version) == major(build.cuda):
        return
    fitting = (each for each in cuda.toolkits if each.has_nvcc and major(each.version) == major(build.cuda))
    other = next(fitting, None)
    if other is None and cuda.cuda_home_from not in {"CUDA_HOME", "CUDA_PATH"}:
        return  # a toolkit that nobody chose harms nothing that is not compiled
    yield found(
        PROBLEM,
        ANOTHER if other else MESSAGE,
        severity=WARNING if other else INFO,
        commands=(f"export CUDA_HOME={other.path}",) if other else (),
        evidence=(Evidence(cuda.nvcc or "nvcc", f"CUDA {cuda.nvcc_version}"), Evidence("torch", f"CUDA {build.cuda}")),
        nvcc=cuda.nvcc_version,
        source=cuda.cuda_home_from or cuda.cuda_home,
        torch=build.cuda,
        major=major(build.cuda),
        other=other.path if other else None,
    )

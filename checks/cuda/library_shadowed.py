"""LD_LIBRARY_PATH offers older CUDA libraries than torch's own.

## What it means
torch's wheels bring cuBLAS, cuDNN, NCCL and others in the versions that they were built with. LD_LIBRARY_PATH names a
folder with older ones of the same file name. torch itself finds its own; libraries that those load in turn (cuBLAS its
cublasLt), and other packages (Transformer Engine, vLLM's kernels), take what the variable offers.
## What it does to a run
Depending on which one is loaded first: undefined symbols, wrong cuBLAS heuristics up to crashes, an NCCL that other
ranks do not have.
## What to do
Take the folder out of LD_LIBRARY_PATH for this run. Nothing of torch needs it.
## How it is found
File names in the folders of LD_LIBRARY_PATH against the versions of the nvidia-* packages. `--deep` tells which ones
are really loaded.
## References
https://github.com/vllm-project/vllm/issues/4392
https://github.com/pytorch/pytorch/issues/111469
https://github.com/pytorch/pytorch/blob/main/torch/__init__.py
"""

from __future__ import annotations

from doctor.checks.cuda._helpers import is_older, wheel_version
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.cuda import Cuda, Library
from doctor.facts.packages import Packages

PROBLEM = Problem(id="CUD004", name="cuda-library-shadowed", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "LD_LIBRARY_PATH offers {stem} {version}, older than torch's {own}",
        "The file is in {folder}. torch finds its own copy first, but what that loads in turn, and other packages, "
        "take the older one: undefined symbols or crashes inside the library can follow.",
        "Take {folder} out of LD_LIBRARY_PATH for this run; torch does not need it.",
    ),
    zh=Words(
        "LD_LIBRARY_PATH 提供的 {stem} {version} 比 torch 自带的 {own} 更旧",
        "该文件位于 {folder}。torch 会先找到自带的库,但它间接加载的库以及其他包会取到旧的,"
        "可能出现未定义符号或在库内部崩溃。",
        "在本次运行中把 {folder} 从 LD_LIBRARY_PATH 去掉;torch 不需要它。",
    ),
)

SEVERAL = Message(
    en=Words(
        "LD_LIBRARY_PATH offers {count} CUDA libraries older than torch's: {names}",
        "The files are in {folder}. torch finds its own copies first, but what those load in turn, and other packages, "
        "take the older ones: undefined symbols or crashes inside the libraries can follow.",
        "Take {folder} out of LD_LIBRARY_PATH for this run; torch does not need it.",
    ),
    zh=Words(
        "LD_LIBRARY_PATH 提供了 {count} 个比 torch 自带更旧的 CUDA 库:{names}",
        "这些文件位于 {folder}。torch 会先找到自带的库,但它们间接加载的库以及其他包会取到旧的,"
        "可能出现未定义符号或在库内部崩溃。",
        "在本次运行中把 {folder} 从 LD_LIBRARY_PATH 去掉;torch 不需要它。",
    ),
)


@check(PROBLEM)
def library_shadowed(cuda: Cuda, packages: Packages) -> Judgement:
    """One finding a folder; libnvJitLink, which torch's import itself trips over, is CUD005."""
    folders: dict[str, list[Library]] = {}
    for each in cuda.shadowing:
        if each.stem != "libnvJitLink" and is_older(each.version, wheel_version(packages, each.stem)):
            folders.setdefault(each.folder, []).append(each)
    for folder, libraries in folders.items():
        first = libraries[0]
        shown = ", ".join(f"{each.stem} {each.version}" for each in libraries[:2])
        yield found(
            PROBLEM,
            MESSAGE if len(libraries) == 1 else SEVERAL,
            confidence=LIKELY,
            commands=("unset LD_LIBRARY_PATH",),
            evidence=tuple(
                Evidence(each.path, f"{each.version}; the wheel's is {wheel_version(packages, each.stem)}")
                for each in libraries
            ),
            stem=first.stem,
            version=first.version,
            own=wheel_version(packages, first.stem),
            folder=folder,
            count=len(libraries),
            names=shown if len(libraries) <= 2 else f"{shown} ...",
        )

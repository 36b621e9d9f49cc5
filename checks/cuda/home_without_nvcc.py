"""CUDA_HOME names a toolkit without its compiler.

## What it means
The folder holds the runtime parts of CUDA but no `bin/nvcc`: the image is a "runtime" one, or only some packages of the
toolkit are installed.
## What it does to a run
Nothing that is already compiled is touched. What compiles at run time fails: DeepSpeed's operations, FlashInfer in
vLLM, extensions of torch.
## What to do
Use the "devel" variant of the image, or install nvcc (`conda install -c nvidia cuda-nvcc`).
## How it is found
The variable as the command sees it, and the files of the folder.
## References
https://hub.docker.com/r/nvidia/cuda
https://github.com/pytorch/pytorch/blob/v2.6.0/torch/utils/cpp_extension.py
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import INFO, WARNING, Problem
from doctor.facts.cuda import Cuda

PROBLEM = Problem(id="CUD002", name="cuda-home-without-nvcc", severity=INFO, since="0.1")

MESSAGE = Message(
    en=Words(
        "`{variable}` names `{folder}`, which has no `bin/nvcc`",
        "What is compiled already runs. What compiles at run time fails: DeepSpeed's operations, FlashInfer in vLLM, "
        "extensions of torch.",
        "Use an image with the compiler (`devel`), or install nvcc, where something compiles.",
    ),
    zh=Words(
        "`{variable}` 指向 `{folder}`,其中没有 `bin/nvcc`",
        "已编译好的部分不受影响;需要在运行时编译的会失败:DeepSpeed 的算子、vLLM 的 FlashInfer、torch 的扩展。",
        "如需编译,请使用带编译器的镜像(`devel`),或安装 nvcc。",
    ),
)

ANOTHER = Message(
    en=Words(
        "`{variable}` names `{folder}` without nvcc, and `{other}` has one",
        "What compiles at run time looks for `nvcc` in the first and fails, although a complete toolkit is there.",
        "Point `{variable}` at the toolkit that has the compiler.",
    ),
    zh=Words(
        "`{variable}` 指向没有 nvcc 的 `{folder}`,而 `{other}` 里有",
        "运行时编译的组件会在前者里找 `nvcc` 并失败,尽管机器上有完整的工具包。",
        "让 `{variable}` 指向带编译器的工具包。",
    ),
)


@check(PROBLEM)
def home_without_nvcc(cuda: Cuda) -> Judgement:
    """An explicit variable only: an image without it is as its makers meant it."""
    if cuda.cuda_home_from not in {"CUDA_HOME", "CUDA_PATH"} or cuda.nvcc is not None:
        return
    if not any(each.path == cuda.cuda_home for each in cuda.toolkits):
        return
    other = next((each for each in cuda.toolkits if each.has_nvcc), None)
    yield found(
        PROBLEM,
        ANOTHER if other else MESSAGE,
        severity=WARNING if other else INFO,
        commands=(f"export {cuda.cuda_home_from}={other.path}",) if other else ("conda install -c nvidia cuda-nvcc",),
        evidence=(Evidence("environment", f"{cuda.cuda_home_from}={cuda.cuda_home}"),),
        variable=cuda.cuda_home_from,
        folder=cuda.cuda_home,
        other=other.path if other else None,
    )

"""CUDA_HOME names a folder that holds no CUDA toolkit.

## What it means
The variable was set by a profile or a module file, and the folder is gone, empty, or was never there.
## What it does to a run
torch takes the variable unseen. Whatever compiles (DeepSpeed's operations, flash-attn, FlashInfer in vLLM) looks for
`bin/nvcc` in that folder and fails, although another toolkit may be installed.
## What to do
Point CUDA_HOME at a toolkit, or unset it: torch then looks for nvcc on PATH and in /usr/local/cuda.
## How it is found
The variable as the command sees it, and the files of the folder.
## References
https://github.com/pytorch/pytorch/blob/v2.6.0/torch/utils/cpp_extension.py
https://github.com/deepspeedai/DeepSpeed/issues/7452
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.cuda import Cuda

PROBLEM = Problem(id="CUD001", name="cuda-home-is-no-toolkit", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "`{variable}` names `{folder}`, which holds no CUDA toolkit",
        "torch takes the variable unseen, so whatever compiles at run time (DeepSpeed's operations, FlashInfer in "
        "vLLM) looks for `nvcc` there and fails.",
        "Point `{variable}` at a toolkit, or unset it.",
    ),
    zh=Words(
        "`{variable}` 指向 `{folder}`,其中没有 CUDA 工具包",
        "torch 不检查该变量,因此运行时编译的组件(DeepSpeed 的算子、vLLM 的 FlashInfer)会在那里找 `nvcc` 并失败。",
        "让 `{variable}` 指向一个工具包,或取消设置。",
    ),
)


@check(PROBLEM)
def home_is_no_toolkit(cuda: Cuda) -> Judgement:
    """What torch guesses by itself is not the user's fault and stays untold."""
    if cuda.cuda_home_from not in {"CUDA_HOME", "CUDA_PATH"} or cuda.cuda_home is None or cuda.nvcc is not None:
        return
    if any(each.path == cuda.cuda_home for each in cuda.toolkits):
        return
    other = next((each for each in cuda.toolkits if each.has_nvcc), None)
    set_it = f"export {cuda.cuda_home_from}={other.path}" if other else f"unset {cuda.cuda_home_from}"
    yield found(
        PROBLEM,
        MESSAGE,
        commands=(set_it,),
        evidence=(Evidence("environment", f"{cuda.cuda_home_from}={cuda.cuda_home}"),),
        variable=cuda.cuda_home_from,
        folder=cuda.cuda_home,
    )

"""`notebook_launcher` cannot start its processes.

## What it means
The launcher forks one process per GPU. It must be told how many, and the notebook itself must not have
touched CUDA or made an `Accelerator` before, for a forked process cannot use CUDA that its parent
initialized.
## What it does to a run
The call raises ValueError and nothing is trained.
## What to do
Pass `num_processes`, and keep everything that touches the GPU inside the training function.
## How it is found
In a log: by Accelerate's exception.
## References
https://huggingface.co/docs/accelerate/basic_tutorials/notebook
https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/launchers.py
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="ACC016", name="notebook-launcher-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: You have to specify the number of GPUs you would like to use, add `(?P<number>num_processes)"
    ),
    Signature(
        r"ValueError: To launch a multi-GPU training from your notebook, (?P<cuda>you need to "
        r"avoid running any instruction using `torch\.cuda`|the `Accelerator` should only be "
        r"initialized inside)"
    ),
    Signature(
        r"RuntimeError: CUDA has been initialized before the `(?P<cuda>notebook_launcher)` could "
        r"create a forked subprocess"
    ),
)


NUMBER = Message(
    en=Words(
        "`notebook_launcher` was not told how many processes to start",
        "On a machine with GPUs the number has no default.",
        "Add it to the call, one process per GPU: `notebook_launcher(training_function, args, "
        "num_processes=2)`; `num_processes=1` for one GPU.",
    ),
    zh=Words(
        "`notebook_launcher` 没有指定要启动多少个进程",
        "在有 GPU 的机器上该数没有默认值。",
        "在调用中加上,每张 GPU 一个进程:`notebook_launcher(training_function, args, "
        "num_processes=2)`;单卡为 `num_processes=1`。",
    ),
)

TOUCHED = Message(
    en=Words(
        "CUDA or an `Accelerator` was initialized in the notebook before `notebook_launcher`",
        "The launcher forks the notebook's process, and a forked process cannot use CUDA that "
        "its parent has initialized.",
        'Restart the kernel, and move everything that touches the GPU (`.to("cuda")`, '
        "`torch.cuda...`, `Accelerator()`, loading models with `device_map`, bitsandbytes) from "
        "earlier cells into the training function; or run the code as a script with `accelerate "
        "launch`.",
    ),
    zh=Words(
        "在 `notebook_launcher` 之前,notebook 中已初始化 CUDA 或 `Accelerator`",
        "启动器会 fork notebook 进程,而 fork 出的进程不能使用父进程已初始化的 CUDA。",
        '重启内核(restart),把之前单元格中所有接触 GPU 的代码(`.to("cuda")`、`torch.cuda...`、'
        "`Accelerator()`、带 `device_map` 的加载、bitsandbytes)移入训练函数;或作为脚本用 "
        "`accelerate launch` 运行。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Two things keep it from starting."""
    message = NUMBER if hits.get("number") else TOUCHED
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence())

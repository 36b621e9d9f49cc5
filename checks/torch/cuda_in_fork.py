"""CUDA is used in a process that was forked after CUDA had started.

## What it means
CUDA does not survive a fork: a child must start it by itself, in a process that was spawned.
## What it does to a run
The child ends with a RuntimeError.
## What to do
Start children with `spawn`, or touch CUDA only in them.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.pytorch.org/docs/stable/notes/multiprocessing.html#cuda-in-multiprocessing
https://docs.vllm.ai/en/latest/usage/troubleshooting/
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR016", name="cuda-in-fork", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"Cannot re-initialize CUDA in forked subprocess"),)

LOG_MESSAGE = Message(
    en=Words(
        "CUDA was used in a process that was forked after CUDA had started",
        "The parent had already touched a GPU (a model on `cuda`, `torch.cuda.is_available()` with "
        "tensors), and its children were forked: data loader workers, vLLM's workers, own processes.",
        "For vLLM set VLLM_WORKER_MULTIPROC_METHOD=spawn and create `LLM(...)` before anything else "
        "touches CUDA, under `if __name__ == '__main__':`. Elsewhere use "
        "`multiprocessing.get_context('spawn')`, `dataloader_num_workers=0`, and keep `.cuda()` out of "
        "the dataset.",
    ),
    zh=Words(
        "在 CUDA 启动之后 fork 出的进程中使用了 CUDA",
        "父进程已经使用过 GPU(`cuda` 上的模型等),其子进程是 fork 出来的:DataLoader 的 worker、vLLM 的 "
        "worker 或自建的进程。",
        "vLLM 请设置 VLLM_WORKER_MULTIPROC_METHOD=spawn,并在其他代码使用 CUDA 之前、在 `if __name__ == "
        "'__main__':` 中创建 `LLM(...)`。其他场合使用 `multiprocessing.get_context('spawn')`、"
        "`dataloader_num_workers=0`,且不要在数据集中调用 `.cuda()`。",
    ),
)

LOG_COMMANDS = ("export VLLM_WORKER_MULTIPROC_METHOD=spawn",)

"""A process asks for a GPU number that it does not have.

## What it means
Each process takes the GPU of its local rank, counted among the visible ones.
## What it does to a run
The process ends at its first CUDA call.
## What to do
Start as many processes as GPUs are visible.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/huggingface/accelerate/pull/2916
https://github.com/pytorch/pytorch/blob/v2.9.0/c10/cuda/CUDAException.cpp
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR014", name="cuda-device-ordinal", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"AssertionError: Invalid device id"),
    Signature(
        r"torch\.cuda\.device_count\(\) is \d{1,3}[^\n]{0,80}Please use torch\.load with map_location"
        r" to map your storages to an existing device",
    ),
    Signature(r"device >= 0 && device < num_gpus INTERNAL ASSERT FAILED"),
)

LOG_MESSAGE = Message(
    en=Words(
        "a process asked for a GPU number that is not visible to it",
        "More processes were started on the machine than GPUs are visible (each takes the GPU of its "
        "local rank), CUDA_VISIBLE_DEVICES is shorter than expected, or a number such as `cuda:1` is "
        "written in code or in a checkpoint.",
        "Set the processes to the number of GPUs: `--num_processes` of accelerate (and of its "
        "configuration file), `--nproc_per_node` of torchrun, `--num_gpus` of deepspeed; look at `echo "
        "$CUDA_VISIBLE_DEVICES` and `nvidia-smi -L`; write `cuda` instead of a number, load checkpoints "
        "with `map_location`.",
    ),
    zh=Words(
        "某个进程要求的 GPU 编号对它不可见",
        "本机启动的进程多于可见的 GPU(每个进程使用其 local rank 对应的 GPU),CUDA_VISIBLE_DEVICES 比预期短"
        ",或代码、检查点中写死了 `cuda:1` 之类的编号。",
        "让进程数等于 GPU 数:accelerate 的 `--num_processes`(及其配置文件)、torchrun 的 "
        "`--nproc_per_node`、deepspeed 的 `--num_gpus`;检查 `echo $CUDA_VISIBLE_DEVICES` 和 `nvidia-smi "
        "-L`;用 `cuda` 代替具体编号,加载检查点时使用 `map_location`。",
    ),
)

CHANGED = Message(
    en=Words(
        "the GPUs visible to a process changed after torch had counted them",
        "torch counts the visible GPUs once. Here a number was asked for that this count does not have: something "
        "set CUDA_VISIBLE_DEVICES after torch was imported or used (Ray for its workers, vLLM's Ray executor, a "
        "script that sets it with `os.environ` too late), or each worker sees one GPU and is told a number of the "
        "whole machine.",
        "Set CUDA_VISIBLE_DEVICES before Python starts, never after `import torch`. Under Ray do not import torch "
        "or use CUDA in the driver before the workers exist, keep `RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES` "
        "the same for trainer and engine (on in one and off in the other gives this), and use the releases of Ray, "
        "vLLM and trainer that belong together. Do not index GPUs by the number of the machine where only one is "
        "visible.",
    ),
    zh=Words(
        "torch 统计之后,进程可见的 GPU 又被改变了",
        "torch 只统计一次可见的 GPU。此处要求的编号不在其中:在 torch 导入或使用之后有代码设置了 "
        "CUDA_VISIBLE_DEVICES(Ray 为 worker、vLLM 的 Ray executor、脚本中过晚的 `os.environ`),或每个 worker 只看到"
        "一张 GPU 却被给了整机的编号。",
        "在 Python 启动之前设置 CUDA_VISIBLE_DEVICES,不要在 `import torch` 之后。使用 Ray 时,worker 建立之前不要在 "
        "driver 中导入 torch 或使用 CUDA;训练端与引擎的 `RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES` 保持一致(一开"
        "一关就会这样);使用相互配套的 Ray、vLLM 与训练端版本。只有一张可见 GPU 时不要用整机编号。",
    ),
)


def explain(hits: Hits) -> Finding:
    """A number that was never visible, or one that is not any more."""
    return found(
        PROBLEM,
        CHANGED if hits.of(2) else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
    )

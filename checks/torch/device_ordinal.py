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

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR014", name="cuda-device-ordinal", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"AssertionError: Invalid device id"),
    Signature(
        r"torch\.cuda\.device_count\(\) is \d{1,3}[^\n]{0,80}Please use torch\.load with map_location"
        r" to map your storages to an existing device",
    ),
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

LOG_CONFIDENCE = LIKELY

"""`nn.DataParallel` cannot split the work of one process over the visible GPUs.

## What it means
Without a launcher the Trainer wraps the model in `nn.DataParallel` when a process sees several GPUs. That splits every
tensor argument along its first axis, which a number such as `num_items_in_batch` does not have, and needs the whole
model on the first GPU, which `device_map="auto"` does not leave there.
## What it does to a run
The first step raises.
## What to do
One process per GPU, or one visible GPU.
## How it is found
In a log: by torch's words, below `torch/nn/parallel`.
## References
https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html
https://github.com/huggingface/trl/issues/2338
https://huggingface.co/docs/transformers/perf_train_gpu_many
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR040", name="data-parallel-fails", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"RuntimeError: chunk expects at least a 1-dimensional tensor",
        frame=r"nn[\\/]parallel[\\/](?:data_parallel|scatter_gather|comm|_functions)\.py:",
    ),
    Signature(r"^StopIteration: Caught StopIteration in replica \d{1,3} on device \d{1,3}"),
)

LOG_MESSAGE = Message(
    en=Words(
        "one process sees several GPUs, and `nn.DataParallel` cannot split this model over them",
        "The script was started by plain `python`, or in a notebook, without a launcher, so the Trainer "
        "wrapped the model in `nn.DataParallel`. Number arguments of newer Trainers "
        "(`num_items_in_batch`), models spread by `device_map` and replicas without parameters break it.",
        "Start one process per GPU: `accelerate launch --num_processes N train.py` or `torchrun "
        "--nproc-per-node N train.py`; in a notebook `accelerate.notebook_launcher`. Or show one GPU only, "
        'before torch is imported: `CUDA_VISIBLE_DEVICES=0 python train.py`. With `device_map="auto"` keep '
        "one process; the Trainer then leaves DataParallel alone (`model.is_parallelizable = "
        "model.model_parallel = True` in older releases).",
    ),
    zh=Words(
        "单个进程可见多张 GPU,`nn.DataParallel` 无法把该模型分到它们上",
        "脚本由普通 `python` 或 notebook 启动,没有启动器,于是 Trainer 用 `nn.DataParallel` 包装了模型。"
        "新版 Trainer 的数值参数(`num_items_in_batch`)、由 `device_map` 分散的模型以及没有参数的"
        "副本都会使其失败。",
        "每张 GPU 启动一个进程:`accelerate launch --num_processes N train.py` 或 `torchrun "
        "--nproc-per-node N train.py`;notebook 中用 `accelerate.notebook_launcher`。或在导入 torch 之前只显"
        '示一张 GPU:`CUDA_VISIBLE_DEVICES=0 python train.py`。使用 `device_map="auto"` 时保持单进程;此时'
        " Trainer 不用 DataParallel(旧版本需设 `model.is_parallelizable = model.model_parallel = True`)。",
    ),
)

"""Nobody tells DeepSpeed the batch size.

## What it means
DeepSpeed must know the micro batch when the engine is made. `"auto"` is filled from the Trainer's
arguments, or from a data loader that is passed to `prepare`; a script that prepares the model alone gives
neither.
## What it does to a run
`prepare` or `initialize` raises before training.
## What to do
Write the number into the DeepSpeed configuration, or prepare the data loader together with the model.
## How it is found
In a log: by the exception of accelerate or DeepSpeed.
## References
https://huggingface.co/docs/accelerate/usage_guides/deepspeed
https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/accelerator.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DSP027", name="deepspeed-batch-size-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: When using DeepSpeed,? `accelerate\.prepare\(\)` requires you to pass at least"
        r" one of training or evaluation",
    ),
    Signature(
        r"ValueError: At least one of the dataloaders passed to `accelerate\.prepare\(\)` has `None`"
        r" as batch size",
    ),
    Signature(
        r"AssertionError: Either train_batch_size or train_micro_batch_size_per_gpu needs to be provided",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "DeepSpeed was not told the batch size by a data loader or its configuration",
        "No data loader was prepared, and the configuration says `auto` or nothing. The engine needs "
        "`train_micro_batch_size_per_gpu` when it is made; accelerate can only fill it in from a data "
        "loader with a `batch_size`.",
        'Set `"train_micro_batch_size_per_gpu"` to a number in the DeepSpeed JSON, or pass the data '
        "loader to `accelerator.prepare(model, optimizer, dataloader)`; for a second model set "
        "`AcceleratorState().deepspeed_plugin.deepspeed_config[...]` first.",
    ),
    zh=Words(
        "DeepSpeed 不知道批大小:没有 prepare 数据加载器,配置中又是 `auto` 或缺失",
        "创建引擎时需要 `train_micro_batch_size_per_gpu`;accelerate 只能从带 `batch_size` 的数据加载器中得到它。",
        '在 DeepSpeed JSON 中把 `"train_micro_batch_size_per_gpu"` 设为数字,或把数据加载器交给 '
        "`accelerator.prepare(model, optimizer, dataloader)`;对第二个模型先设置 "
        "`AcceleratorState().deepspeed_plugin.deepspeed_config[...]`。",
    ),
)

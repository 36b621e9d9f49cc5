"""The dataset has no length, and nobody says how many steps to train.

## What it means
A streaming dataset, or an `IterableDataset` of your own, cannot be counted. The trainer needs the number of steps for
its schedule, so `num_train_epochs` does not do.
## What it does to a run
ValueError when training starts.
## What to do
Set `max_steps`.
## How it is found
In a log: by the Trainer's exceptions.
## References
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/trainer.py
https://huggingface.co/docs/trl/main/en/grpo_trainer
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DAT039", name="stream-without-max-steps", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: args\.max_steps must be set to a positive value if dataloader does not have a length"),
    Signature(r"ValueError: The train_dataset does not implement __len__, max_steps has to be specified"),
    Signature(r"ValueError: When training without a `train_dataset` \(the environment owns the data"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the training data has no length and `max_steps` is not set",
        "Streams and environments that make their own prompts cannot be counted, so epochs say nothing about where to "
        "stop and how to lower the learning rate.",
        "Set `max_steps` in the training arguments: rows / (`per_device_train_batch_size` x processes x "
        "`gradient_accumulation_steps`) for one pass (in GRPO times `num_generations`). Or load without "
        "`streaming=True`.",
    ),
    zh=Words(
        "训练数据没有长度,而没有设置 `max_steps`",
        "流式数据集和自行产生提示的环境无法计数,因此轮数无法说明何时停止、如何降低学习率。",
        "在训练参数中设置 `max_steps`:一轮约为 行数 /(`per_device_train_batch_size` x 进程数 x "
        "`gradient_accumulation_steps`)(GRPO 再乘以 `num_generations`)。或去掉 `streaming=True`。",
    ),
)

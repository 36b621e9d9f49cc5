"""GRPO gets a streaming dataset that it cannot sample from.

## What it means
GRPO repeats each prompt for its group with a sampler of its own, which needs a dataset with rows that can
be indexed; TRL 1.9 and newer take an iterable one as long as every process reads it by itself.
## What it does to a run
The trainer raises when it is built.
## What to do
Load the dataset without streaming, or upgrade and set `dispatch_batches=False`.
## How it is found
In a log: by TRL's own exception.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
https://huggingface.co/docs/datasets/stream
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRL038", name="iterable-dataset-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"NotImplementedError: Iterable datasets are not yet supported in GRPOTrainer"),
    Signature(r"ValueError: Iterable datasets require `dispatch_batches=False`"),
)

LOG_MESSAGE = Message(
    en=Words(
        "GRPO was given a streaming (iterable) dataset, which this set-up does not support",
        "TRL up to 1.8 needs rows that can be indexed, to repeat a prompt for its whole group; from 1.9 "
        "on each process must read the stream itself.",
        "Load without `streaming=True`, or materialize it: `Dataset.from_generator(lambda: "
        'stream.take(100_000))`; or with TRL 1.9 and newer set `accelerator_config={{"dispatch_batches": '
        "False}}` and `max_steps`.",
    ),
    zh=Words(
        "GRPO 得到的是流式(iterable)数据集,当前设置不支持",
        "TRL 1.8 及以下需要可索引的行,以便为整组重复同一 prompt;自 1.9 起每个进程必须自行读取流。",
        "不使用 `streaming=True` 加载,或将其实体化:`Dataset.from_generator(lambda: "
        'stream.take(100_000))`;或在 TRL 1.9 及以上设置 `accelerator_config={{"dispatch_batches": '
        "False}}` 和 `max_steps`。",
    ),
)

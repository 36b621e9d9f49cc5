"""A batch of a reinforcement-learning run holds nothing.

## What it means
Before samples are made or counted, trainers cut batches to a multiple of their data-parallel size, drop prompts that
are too long, and filter groups whose rewards are all alike. What is left may be nothing, and then its smallest or
largest value does not exist.
## What it does to a run
ValueError from numpy or RuntimeError from torch, far from the setting that emptied the batch.
## What to do
Make the batch larger than what the trainer cuts it to, and look at the filters.
## How it is found
In a log: by the words of numpy in a file of a trainer.
## References
https://github.com/NovaSky-AI/SkyRL/issues/1609
https://numpy.org/doc/stable/reference/generated/numpy.ufunc.reduce.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="RLX029", name="nothing-in-the-batch", severity=ERROR, since="0.1")

_TRAINERS = (
    r"[\\/](?:skyrl\w{0,6}|verl|slime|miles|areal|nemo_rl|roll|rllm|rlinf|prime_rl|ragen|openrlhf|trinity|trl|swift)[\\/]"
    r"[^\n]{1,200}\.py:"
)

SIGNATURES = (
    Signature(
        r"ValueError: zero-size array to reduction operation (?P<what>\w{1,20}) which has no identity",
        frame=_TRAINERS,
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a batch of the trainer was empty when its {what} was asked for",
        "Nothing was left of it: the trainer cut the batch down to a multiple of its data-parallel size, which is "
        "larger than the batch, a filter dropped every prompt or group (too long, all rewards alike), or every "
        "rollout failed.",
        "Raise the batch of prompts (`train_batch_size`) to at least the data-parallel size, best a multiple of GPUs "
        "divided by parallel sizes; look above for how many prompts were read, filtered and generated (`Generating "
        "...: 0it`), and for errors of single rollouts; loosen the filter.",
    ),
    zh=Words(
        "训练框架求 {what} 时该批次是空的",
        "批次中什么都没有剩下:训练框架把批次截为数据并行大小的整数倍,而后者比批次还大;过滤器丢弃了全部提示或组(过长、奖励全"
        "部相同);或所有 rollout 都失败了。",
        "把提示批次(`train_batch_size`)增大到不小于数据并行大小,最好是 GPU 数除以并行大小的整数倍;查看上文读取、过滤、"
        "生成了多少提示(`Generating ...: 0it`),以及个别 rollout 的错误;放宽过滤条件。",
    ),
)


def explain(hits: Hits) -> Finding:
    """The exception does not tell what emptied it."""
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, what=hits.get("what")
    )

"""The rewards of a GRPO step do not fill whole groups.

## What it means
GRPO views the rewards as rows of `num_generations`. Their number is no multiple of it where the batch was
changed behind the configuration: `auto_find_batch_size` after an out-of-memory error, a last batch that is
not dropped, another number of prompts per process, a reward function that returns fewer values.
## What it does to a run
The step raises RuntimeError about a shape.
## What to do
Keep the batch a multiple of `num_generations`.
## How it is found
In a log: by a view that fails inside the trainer's reward or loss code.
## References
https://github.com/huggingface/trl/issues/3842
https://github.com/tulerfeng/Video-R1/issues/12
https://huggingface.co/docs/trl/grpo_trainer
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRL046", name="rewards-do-not-fill-groups", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"RuntimeError: shape '\[-1, (?P<generations>\d{1,4})\]' is invalid for input of size (?P<size>\d{1,9})",
        frame=r"(?i)grpo\w*trainer\.py",
    ),
    Signature(
        # the number of groups was rounded down to none before the view
        r"RuntimeError: shape '\[0, (?P<generations>\d{1,4})\]' is invalid for input of size (?P<size>\d{1,9})",
        frame=r"(?i)(?:grpo\w*|\w*trainer)\.py",
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "{size} rewards do not fill groups of `num_generations={generations}`",
        "The number of completions in a step over all processes is no multiple of the group size: too few "
        "processes or too small a batch for the group, a batch that was reduced after an out-of-memory error "
        "(`auto_find_batch_size`, Unsloth's and Accelerate's `find_executable_batch_size`), a last batch that is "
        "smaller, or a reward function that returned too few values.",
        "Make the batch size a multiple of {generations} (`per_device_train_batch_size` x processes x accumulation), "
        "or choose `num_generations` that divides it. Set `auto_find_batch_size=False`, keep "
        "`dataloader_drop_last=True`, and lower memory use by `per_device_train_batch_size` or "
        "completion length instead.",
    ),
    zh=Words(
        "{size} 个奖励无法填满 `num_generations={generations}` 的组",
        "某一步所有进程的生成数量不是组大小的倍数:进程太少或批次对该组来说太小,显存不足后批次被缩小"
        "(`auto_find_batch_size`、Unsloth 与 Accelerate 的 `find_executable_batch_size`),最后一个批次较小,或奖励函数"
        "返回的值太少。",
        "使批大小为 {generations} 的倍数(`per_device_train_batch_size` x 进程数 x 累积),或选择能整除它的 "
        "`num_generations`。设置 `auto_find_batch_size=False`,保持 `dataloader_drop_last=True`,"
        "改用减小 `per_device_train_batch_size` 或生成长度来降低显存。",
    ),
)

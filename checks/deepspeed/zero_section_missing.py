"""The DeepSpeed configuration has no `zero_optimization`.

## What it means
The section is missing or misspelt. DeepSpeed itself takes that as stage 0; accelerate, and with it the Trainer,
demands the section.
## What it does to a run
`Please specify the ZeRO optimization config in the DeepSpeed config`, a ValueError while the training arguments are
built.
## What to do
Add `"zero_optimization": {"stage": 2}`, or stage 0 where no partitioning is wanted.
## How it is found
The JSON of a run that goes through the Trainer or accelerate.
## References
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/utils/dataclasses.py
"""

from __future__ import annotations

from doctor.checks.deepspeed._helpers import unread
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.launch import Launch
from doctor.facts.training import Training

PROBLEM = Problem(id="DSP007", name="deepspeed-zero-section-missing", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "`{file}` has no `zero_optimization`",
        "accelerate ends with a ValueError that asks to specify the ZeRO optimization config.",
        "Add the section; stage 0 partitions nothing.",
    ),
    zh=Words(
        "`{file}` 中没有 `zero_optimization`",
        "accelerate 会以 `Please specify the ZeRO optimization config in the DeepSpeed config` 退出。",
        "加上这一节;stage 0 表示不做切分。",
    ),
)


@check(PROBLEM)
def zero_section_missing(launch: Launch, deepspeed: DeepspeedConfig | None, training: Training | None) -> Judgement:
    """Only where accelerate reads the file."""
    if deepspeed is None:
        yield from unread(training)
        return
    by_trainer = training is not None and training.trainer is not None
    if launch.kind not in {"accelerate", "trl"} and not by_trainer:
        return
    if deepspeed.broken or not deepspeed.settings:
        return
    if any(name == "zero_optimization" or name.startswith("zero_optimization.") for name in deepspeed.settings):
        return
    file = deepspeed.path or (deepspeed.named_by.file if deepspeed.named_by else "the DeepSpeed configuration")
    place = Where(file=deepspeed.path) if deepspeed.path else None
    commands = ('"zero_optimization": {"stage": 2}',)
    yield found(PROBLEM, MESSAGE, file=file.rpartition("/")[2], where=place, commands=commands)

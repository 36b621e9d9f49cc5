"""fp16 and bf16 are both switched on.

## What it means
The two are alternatives; one training has one half precision.
## What it does to a run
`TrainingArguments`, and every TRL configuration class with it, raises a ValueError ("At most one of fp16
and bf16 can be True").
## What to do
Keep bf16 on GPUs of compute capability 8.0 and newer, fp16 on older ones.
## How it is found
Both arguments are true in script, YAML or command line.
In a log: by the exception of Transformers.
## References
https://github.com/huggingface/transformers/blob/v4.57.3/src/transformers/training_args.py
"""

from __future__ import annotations

from doctor.checks.trl._helpers import quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, truth
from doctor.core.signature import Signature
from doctor.facts.training import Training

PROBLEM = Problem(id="TRF006", name="fp16-and-bf16", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"ValueError: At most one of fp16 and bf16 can be True"),)

LOG_MESSAGE = Message(
    en=Words(
        "`fp16` and `bf16` are both switched on",
        "A training has one half precision; TRL 0.19 and newer switch `bf16` on by themselves unless `fp16` is set.",
        "Keep one: `bf16=True` from compute capability 8.0 (A100, RTX 30) on, else `fp16=True, bf16=False`.",
    ),
    zh=Words(
        "`fp16` 和 `bf16` 同时开启",
        "一次训练只有一种半精度;TRL 0.19 及以上在未设置 `fp16` 时会自行开启 `bf16`。",
        "保留其一:计算能力 8.0(A100、RTX 30)及以上用 `bf16=True`,否则用 `fp16=True, bf16=False`。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`fp16=True` and `bf16=True` together",
        "The configuration raises a ValueError, since a training has one half precision.",
        "Keep one of them: bf16 from compute capability 8.0 (A100, RTX 30) on, fp16 below.",
    ),
    zh=Words(
        "`fp16=True` 与 `bf16=True` 同时设置",
        "一次训练只能使用一种半精度,因此配置会抛出 ValueError。",
        "保留其中一个:计算能力 8.0(A100、RTX 30)及以上用 bf16,以下用 fp16。",
    ),
)


@check(PROBLEM)
def fp16_and_bf16(training: Training) -> Judgement:
    """Judge explicit switches; TRL's own default of bf16 gives way to fp16."""
    fp16, bf16 = training.get("fp16"), training.get("bf16")
    if fp16 is not None and bf16 is not None and truth(fp16.value) and truth(bf16.value):
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(fp16, bf16),
            evidence=quoted(fp16, bf16),
            commands=("fp16=False",),
        )

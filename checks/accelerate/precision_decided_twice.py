"""accelerate and the training arguments ask for different precisions.

## What it means
The launcher is told fp16 and the training bf16, or the other way round. The Trainer overwrites the launcher's choice by
`fp16` or `bf16` of its own arguments; in TRL from 0.19.0 `bf16` is on unless `fp16` is.
## What it does to a run
The training arguments win without a word. A run that is meant to be fp16 is bf16, which older cards only emulate, or a
bf16 model is trained in fp16, where it overflows.
## What to do
Write the same precision in both places.
## How it is found
`mixed_precision` as the launcher resolves it against `fp16` and `bf16` of the training.
## References
https://github.com/huggingface/transformers/blob/v4.56.2/src/transformers/training_args.py
https://huggingface.co/docs/trl/grpo_trainer
"""

from __future__ import annotations

from doctor.checks.launch._helpers import effective, options_are_plain, proofs, written
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.reading import place_of, truth
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(id="ACC009", name="accelerate-precision-decided-twice", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "`mixed_precision` is {launcher} for accelerate, and the training asks for {trainer} ({place})",
        "The Trainer's own argument goes before the launcher's: the run is {trainer}, and {launcher} has no effect.",
        "Write the same precision in both places.",
    ),
    zh=Words(
        "accelerate 的 `mixed_precision` 是 {launcher},而训练参数要求 {trainer}({place})",
        "Trainer 自己的参数优先于启动器:实际以 {trainer} 运行,{launcher} 不起作用。",
        "两处写成相同的精度。",
    ),
)


@check(PROBLEM)
def precision_decided_twice(
    launch: Launch, accelerate: AccelerateConfig | None, training: Training, packages: Packages | None
) -> Judgement:
    """fp16 against bf16 only: `no` in the file beside a precision of the Trainer is the usual way."""
    if not options_are_plain(launch):
        return
    setting = launch.option("mixed_precision")
    if setting is None and accelerate is not None:
        setting = accelerate.settings.get("mixed_precision")
    if setting is None or setting.value not in {"fp16", "bf16"}:
        return
    other = "bf16" if setting.value == "fp16" else "fp16"
    same, wanted = effective(training, packages, str(setting.value)), effective(training, packages, other)
    if wanted is None or not truth(wanted.value) or (same is not None and truth(same.value)):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        launcher=setting.value,
        trainer=other,
        place=written(wanted),
        where=place_of(setting, wanted),
        commands=(f"mixed_precision: {other}",),
        evidence=proofs(setting, wanted),
    )

"""accelerate turns a precision on for DeepSpeed that the training arguments do not ask for.

## What it means
`mixed_precision` of the launcher is bf16 or fp16, and neither `bf16` nor `fp16` of the training arguments is set.
accelerate switches the precision on in the DeepSpeed configuration, and the Trainer then compares it with its own
argument.
## What it does to a run
`Please correct the following DeepSpeed config values that mismatch TrainingArguments values: ds bf16.enabled=True vs hf
bf16|bf16_full_eval=False`, when training begins. Without DeepSpeed the same pair works.
## What to do
Set the precision in the training arguments too.
## How it is found
The launcher's precision and the arguments, or their defaults in the installed release. Run with accelerate 1.15.0.
## References
https://github.com/huggingface/transformers/blob/v4.56.2/src/transformers/integrations/deepspeed.py
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/utils/dataclasses.py
"""

from __future__ import annotations

from doctor.checks.deepspeed._helpers import compares_arguments, setting_of
from doctor.checks.launch._helpers import effective, options_are_plain, proofs
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, truth
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="DSP016", name="deepspeed-launcher-precision-alone", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "`mixed_precision` is {precision} for accelerate, and `{precision}` of the training is off",
        "Under DeepSpeed the Trainer compares the two and ends with `ds {precision}.enabled=True vs hf "
        "{precision}|{precision}_full_eval=False` when training begins, after the models were loaded.",
        "Set `{precision}=True` in the training arguments.",
    ),
    zh=Words(
        "accelerate 的 `mixed_precision` 是 {precision},而训练参数没有打开 `{precision}`",
        "使用 DeepSpeed 时 Trainer 会比较两者,在训练开始时(模型已加载完)以 `ds {precision}.enabled=True vs hf "
        "{precision}|{precision}_full_eval=False` 退出。",
        "在训练参数里设置 `{precision}=True`。",
    ),
)


@check(PROBLEM, requires=("DSP004",))
def launcher_precision_alone(
    launch: Launch,
    world: World,
    training: Training,
    packages: Packages,
    accelerate: AccelerateConfig | None,
    deepspeed: DeepspeedConfig | None,
) -> Judgement:
    """A JSON given as `deepspeed=` is compared before accelerate fills it in."""
    if not options_are_plain(launch) or world.backend != "deepspeed" or training.get("deepspeed"):
        return
    setting = launch.option("mixed_precision")
    if setting is None and accelerate is not None:
        setting = accelerate.settings.get("mixed_precision")
    if setting is None or setting.value not in {"fp16", "bf16"} or not compares_arguments(training, packages):
        return
    written = setting_of(deepspeed, f"{setting.value}.enabled")
    if written is not None and written.value != "auto":
        return
    if any(training.get(f"{name}_full_eval") for name in ("fp16", "bf16")):
        return
    arguments = [effective(training, packages, name) for name in ("fp16", "bf16")]
    if any(each is None or truth(each.value) for each in arguments):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        precision=setting.value,
        where=place_of(setting),
        commands=(f"--{setting.value}",),
        evidence=proofs(setting),
    )

"""The loss scale of fp16 is fixed.

## What it means
A `loss_scale` other than 0 switches DeepSpeed's dynamic scaling off: the scale never follows the gradients.
## What it does to a run
When gradients overflow at that scale, step after step is skipped and nothing lowers it: the run goes on and
learns nothing. Where the scale is too small, small gradients vanish.
## What to do
Set `loss_scale` to 0, DeepSpeed's default, for dynamic scaling.
## How it is found
`fp16.loss_scale` of the DeepSpeed JSON.
## References
https://www.deepspeed.ai/docs/config-json/#fp16-training-options
https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/runtime/fp16/loss_scaler.py
"""

from __future__ import annotations

from doctor.checks.trl._helpers import quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Message, Skip, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.reading import number, place_of
from doctor.facts.deepspeed_config import DeepspeedConfig

PROBLEM = Problem(id="NUM003", name="loss-scale-fixed", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "`fp16.loss_scale` is fixed at {scale}",
        "DeepSpeed then never lowers the scale: gradients that overflow at {scale} are skipped in every "
        "step, and the run learns nothing without failing.",
        "Use dynamic scaling.",
    ),
    zh=Words(
        "`fp16.loss_scale` 固定为 {scale}",
        "此时 DeepSpeed 不会降低 scale:在 {scale} 下溢出的梯度每一步都会被跳过,训练不报错却学不到东西。",
        "使用动态缩放。",
    ),
)


@check(PROBLEM)
def loss_scale_fixed(deepspeed: DeepspeedConfig) -> Judgement:
    """Judge an explicit scale where fp16 is on or left to the trainer."""
    setting, enabled = deepspeed.settings.get("fp16.loss_scale"), deepspeed.settings.get("fp16.enabled")
    if setting is None or enabled is None or enabled.value is False:
        return
    scale = number(setting.value)
    if scale is None:
        yield Skip("`fp16.loss_scale` of the DeepSpeed JSON is not a number")
    elif scale > 0:
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(setting),
            evidence=quoted(setting),
            commands=('"loss_scale": 0',),
            scale=f"{scale:g}",
            confidence=CONFIRMED if enabled.value is True else LIKELY,
        )

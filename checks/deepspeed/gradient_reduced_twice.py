"""A gradient is computed twice in one backward pass under ZeRO.

## What it means
ZeRO 1 and 2 reduce each gradient once, as soon as it is there. Reentrant gradient checkpointing of a layer
that is used twice, a model that is run twice before one `backward`, or shared modules compute it again.
## What it does to a run
The first backward pass raises AssertionError.
## What to do
Use non-reentrant checkpointing, or one forward pass per backward pass.
## How it is found
In a log: by DeepSpeed's assertion.
## References
https://github.com/deepspeedai/DeepSpeed/blob/v0.16.7/deepspeed/runtime/zero/stage_1_and_2.py
https://pytorch.org/docs/stable/checkpoint.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DSP028", name="deepspeed-gradient-reduced-twice", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"AssertionError: The parameter (?P<parameter>[^\s]{1,200}) has already been reduced"),)

LOG_MESSAGE = Message(
    en=Words(
        "the gradient of parameter {parameter} arose twice in one backward pass",
        "ZeRO reduces each gradient once. Usual sources: reentrant gradient checkpointing (with LoRA "
        "above all), several forward passes before one backward pass, or a module that is used twice.",
        'Set `gradient_checkpointing_kwargs={{"use_reentrant": False}}`, or switch '
        "`gradient_checkpointing` off to see whether it is the source; in a loop of your own make one "
        "forward pass per `backward`. ZeRO-3 does not have this limit.",
    ),
    zh=Words(
        "参数 {parameter} 的梯度在一次反向传播中出现了两次",
        "ZeRO 对每个梯度只归约一次。常见来源:reentrant 梯度检查点(尤其是与 LoRA 一起)、一次反向传播之前多"
        "次前向,或同一模块被使用两次。",
        '设置 `gradient_checkpointing_kwargs={{"use_reentrant": False}}`,或关闭 `gradient_checkpointing` '
        "以确认来源;自己的循环中每次 `backward` 只做一次前向。ZeRO-3 没有此限制。",
    ),
)

LOG_CONFIDENCE = LIKELY

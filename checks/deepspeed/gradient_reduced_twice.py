"""A gradient is computed twice in one backward pass under ZeRO.

## What it means
ZeRO reduces each gradient once, as soon as it is there (ZeRO-3: once in each bucket). Reentrant gradient
checkpointing of a layer that is used twice, a model that is run twice before one `backward`, or shared modules
compute it again.
## What it does to a run
The first backward pass raises AssertionError.
## What to do
Use non-reentrant checkpointing, or one forward pass per backward pass.
## How it is found
In a log: by DeepSpeed's assertion.
## References
https://github.com/deepspeedai/DeepSpeed/blob/v0.16.7/deepspeed/runtime/zero/stage_1_and_2.py
https://github.com/deepspeedai/DeepSpeed/issues/4505
https://pytorch.org/docs/stable/checkpoint.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DSP028", name="deepspeed-gradient-reduced-twice", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"AssertionError: The parameter (?P<parameter>[^\s]{1,200}) has already been reduced"),
    Signature(
        r"^AssertionError:?$",
        frame=r"zero[\\/]stage3\.py:_{0,2}(?:DeepSpeedZeroOptimizer_Stage3__)?reduce_and_partition_ipg_grads$",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the gradient of {which} arose twice in one backward pass",
        "ZeRO reduces each gradient once. Usual sources: reentrant gradient checkpointing (with LoRA "
        "above all), several forward passes before one backward pass, or a module that is used twice.",
        'Set `gradient_checkpointing_kwargs={{"use_reentrant": False}}`, or switch '
        "`gradient_checkpointing` off to see whether it is the source; in a loop of your own make one "
        "forward pass per `backward`.",
    ),
    zh=Words(
        "{which_zh}的梯度在一次反向传播中出现了两次",
        "ZeRO 对每个梯度只归约一次。常见来源:reentrant 梯度检查点(尤其是与 LoRA 一起)、一次反向传播之前多"
        "次前向,或同一模块被使用两次。",
        '设置 `gradient_checkpointing_kwargs={{"use_reentrant": False}}`,或关闭 `gradient_checkpointing` '
        "以确认来源;自己的循环中每次 `backward` 只做一次前向。",
    ),
)


def explain(hits: Hits) -> Finding:
    """ZeRO-3's assertion does not name the parameter."""
    name = hits.get("parameter")
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        which=f"parameter {name}" if name else "a parameter",
        which_zh=f"参数 {name} " if name else "某个参数",
    )

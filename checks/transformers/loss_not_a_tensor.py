"""What `compute_loss` or `training_step` gives back is no tensor with a gradient.

## What it means
The Trainer divides the loss and calls `backward` on it. An override that forgets its `return`, or calls `.item()` or
`.numpy()` on the loss, gives it `None` or a number.
## What it does to a run
The first step raises.
## What to do
Return the loss tensor itself; log its `.item()` beside.
## How it is found
In a log: by TypeError and AttributeError raised where Accelerate or the Trainer start the backward pass.
## References
https://huggingface.co/docs/transformers/main/en/trainer_customize
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/accelerator.py
"""

from __future__ import annotations

import re

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TRF066", name="loss-not-a-tensor", severity=ERROR, since="0.1")

#: where the loss is divided and sent backward: the innermost frame, since reward functions run below the same ones
_BACKWARD = (
    r"[\\/](?:accelerate[\\/]accelerator\.py:backward"
    r"|transformers[\\/]trainer\.py:(?:training_step|compute_loss|_inner_training_loop))$"
)

#: (pattern, what is said of it)
CASES = (
    (
        r"^TypeError: unsupported operand type\(s\) for /=?: 'NoneType' and '(?:int|float)'",
        Message(
            en=Words(
                "the loss is `None`: `compute_loss` returned nothing",
                "The Trainer divides the loss before backward. An override without `return`, or a model that "
                "computes no loss for this batch, gives `None`.",
                "End the override with `return (loss, outputs) if return_outputs else loss`; print `outputs.keys()` "
                "to see whether the model gave a `loss` (it needs `labels`).",
            ),
            zh=Words(
                "损失为 `None`:`compute_loss` 没有返回值",
                "Trainer 在反向传播前会除以系数。重写的函数没有 `return`,或模型没有为该批次计算损失,得到的就是 "
                "`None`。",
                "在重写的函数末尾 `return (loss, outputs) if return_outputs else loss`;打印 `outputs.keys()` 查看模"
                "型是否给出 `loss`(需要 `labels`)。",
            ),
        ),
    ),
    (
        (
            r"^AttributeError: '(?P<kind>float|int|numpy\.float\w{0,4}|ndarray|str|dict|tuple|list|Non"
            r"eType)' object has no attribute '(?:backward|mean|detach)'"
        ),
        Message(
            en=Words(
                "the loss is a `{kind}` and not a tensor: nothing to differentiate",
                "`.item()`, `float(...)` and `.numpy()` cut a number off from the graph; a tuple or dict means that "
                "more than the loss was returned.",
                "Return the tensor itself (`return loss`), and `(loss, outputs)` only where `return_outputs` is "
                "set; use `.item()` for logging alone.",
            ),
            zh=Words(
                "损失是 `{kind}` 而不是张量:无法求导",
                "`.item()`、`float(...)`、`.numpy()` 会让数值脱离计算图;元组或字典表示返回了不止损失。",
                "返回张量本身(`return loss`),仅当 `return_outputs` 为真时返回 `(loss, outputs)`;`.item()` 只用于记录"
                "日志。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern, frame=_BACKWARD, symptom_of=("ACC017",)) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding | None:
    """What the first hit's own case says, where nothing deeper raised."""
    if not re.search(_BACKWARD, hits.first.frames[-1]):
        return None
    return finding_of_case(PROBLEM, CASES, hits)

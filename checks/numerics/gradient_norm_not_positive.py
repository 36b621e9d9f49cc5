"""DeepSpeed's bf16 optimizer stopped because the norm of all gradients is not above zero.

## What it means
Before it clips, the optimizer of older DeepSpeed releases asserts that the norm is positive. A norm that is NaN or
infinite was replaced with -1 on the way there; a norm of exactly zero fails too.
## What it does to a run
`step` raises an AssertionError without a message on every rank.
## What to do
Find out which of the two it is: a loss of NaN, or one of 0 in which no token took part.
## How it is found
In a log: by the line of source that the traceback shows.
## References
https://github.com/deepspeedai/DeepSpeed/issues/5223
https://github.com/deepspeedai/DeepSpeed/blob/v0.14.0/deepspeed/runtime/bf16_optimizer.py
https://github.com/deepspeedai/DeepSpeed/blob/v0.14.0/deepspeed/runtime/utils.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="NUM011", name="gradient-norm-not-positive", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"\bassert all_groups_norm > 0\.", symptom_of=("NUM006", "NUM008")),)

LOG_MESSAGE = Message(
    en=Words(
        "DeepSpeed's bf16 optimizer stopped: the norm of all gradients is not above zero",
        "Either a gradient was NaN or infinite (this DeepSpeed writes -1 for such a norm), or all gradients were "
        "exactly zero: no token took part in the loss, or nothing that is trained received a gradient.",
        "Look at the losses of the last steps. NaN: lower `learning_rate`, set `max_grad_norm`, look for a division "
        "by zero in the loss and for rewards that are not finite. 0: look for batches whose labels are all masked "
        "or whose rewards are all equal, and for parameters that do not require gradients. Upgrade DeepSpeed: newer "
        "releases let a zero pass and report the norm as infinite.",
    ),
    zh=Words(
        "DeepSpeed 的 bf16 优化器停止:所有梯度的范数不大于零",
        "要么某个梯度为 NaN 或无穷大(此版本的 DeepSpeed 把这样的范数写成 -1),要么所有梯度恰好为零:"
        "没有任何 token 参与损失,或被训练的参数没有得到梯度。",
        "查看最后几步的损失。NaN:降低 `learning_rate`,设置 `max_grad_norm`,检查损失中的除零与非有限的奖励。"
        "0:检查标签全被屏蔽或奖励全部相等的批次,以及不需要梯度的参数。升级 DeepSpeed:较新版本允许零通过,"
        "并把该范数报告为无穷大。",
    ),
)

LOG_CONFIDENCE = LIKELY

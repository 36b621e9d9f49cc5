"""Under DDP a parameter's gradient came twice in one backward pass.

## What it means
Reentrant gradient checkpointing runs parts of the backward pass again; with `find_unused_parameters=True`,
with a module used twice, or with shared weights, DDP sees the same parameter ready a second time.
## What it does to a run
The first backward pass raises RuntimeError.
## What to do
Checkpoint without reentrance and do not look for unused parameters.
## How it is found
In a log: by the reducer's exception.
## References
https://docs.pytorch.org/docs/stable/checkpoint.html
https://github.com/huggingface/transformers/issues/23018
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR028", name="ddp-gradient-ready-twice", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"RuntimeError: Expected to mark a variable ready only once\."),)


LOG_MESSAGE = Message(
    en=Words(
        "under DDP the gradient of a parameter came twice in one backward pass",
        "Reentrant gradient checkpointing together with `find_unused_parameters=True`, or a "
        "module that runs twice a step, makes DDP see a parameter ready a second time.",
        'Set `gradient_checkpointing_kwargs={{"use_reentrant": False}}` and '
        "`ddp_find_unused_parameters=False`; if that is not enough, switch gradient "
        "checkpointing off or use DeepSpeed ZeRO-2 instead of DDP.",
    ),
    zh=Words(
        "DDP 下某个参数的梯度在一次反向传播中出现了两次",
        "可重入的梯度检查点与 `find_unused_parameters=True` 同时使用,或某个模块每步运行两次,会使 "
        "DDP 第二次看到同一参数就绪。",
        '设置 `gradient_checkpointing_kwargs={{"use_reentrant": False}}` 和 '
        "`ddp_find_unused_parameters=False`;仍不行则关闭梯度检查点,或用 DeepSpeed ZeRO-2 代替 "
        "DDP。",
    ),
)

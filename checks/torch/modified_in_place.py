"""A tensor that backward needs was changed in place.

## What it means
Autograd kept a tensor of the forward pass and found another version of it in the backward pass: an in-place
operation, buffers that DDP broadcast between two forward passes of one step, weights updated before the
second backward pass.
## What it does to a run
The backward pass raises RuntimeError.
## What to do
Find the operation with anomaly detection and write it out of place.
## How it is found
In a log: by autograd's exception.
## References
https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks
https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR029", name="modified-in-place", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"one of the variables needed for gradient computation has been modified by an inplace operation"),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "a tensor of the forward pass was changed in place before backward needed it",
        "Autograd compares version counters. Usual causes: `+=`, `x[...] = y` or an in-place "
        "activation in own code or remote model code; two forward passes a step under DDP, which "
        "broadcasts buffers in between; an optimizer step between forward and backward.",
        "Find it with `torch.autograd.set_detect_anomaly(True)` and write it out of place (`x = "
        "x + y`, `.clone()`). Under DDP with several forward passes a step set "
        "`ddp_broadcast_buffers=False`; with gradient checkpointing try `use_reentrant=False`.",
    ),
    zh=Words(
        "前向过程的某个张量在反向传播用到之前被原位修改",
        "自动求导会比较版本号。常见原因:自己的代码或远程模型代码中的 `+=`、`x[...] = y` "
        "或原位激活;DDP 下每步多次前向,期间会广播缓冲区;在前向与反向之间执行了优化器步。",
        "用 `torch.autograd.set_detect_anomaly(True)` 定位,改为非原位写法(`x = x + y`、"
        "`.clone()`)。DDP 下每步多次前向时设置 `ddp_broadcast_buffers=False`;"
        "使用梯度检查点时尝试 `use_reentrant=False`。",
    ),
)

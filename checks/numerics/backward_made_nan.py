"""The backward pass of an operation returned NaN.

## What it means
`torch.autograd.set_detect_anomaly(True)` is on: torch looks at every gradient and raises at the first operation whose
backward pass made a NaN. Above the exception it prints where the operation was called in the forward pass.
## What it does to a run
The process ends in this step. Without the detection the NaN would have gone into the weights.
## What to do
Read the forward traceback above the exception, and keep the operation's input away from where its derivative is
infinite.
## How it is found
In a log: by torch's exception.
## References
https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection
https://github.com/pytorch/pytorch/blob/v2.9.0/torch/csrc/autograd/engine.cpp
https://github.com/huggingface/trl/issues/2564
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="NUM012", name="backward-made-nan", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"RuntimeError: Function '(?P<function>\w{1,100})' returned nan values in its"
        r" (?P<output>\d{1,3})th output"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the backward pass of `{function}` returned NaN",
        "torch's anomaly detection stopped at the first operation whose gradient is NaN. Either its input lay where "
        "the derivative is infinite (a logarithm or a root at 0, log1p at -1, a division by 0, a softmax whose row is "
        "masked whole), or a NaN came in from the loss.",
        "Read the forward traceback that torch printed above the exception: it names the call. Clamp the input of "
        "that call away from the bad point, leave fully masked rows out of the loss, or compute it in fp32. Turn "
        "`set_detect_anomaly` off afterwards, for it slows training.",
    ),
    zh=Words(
        "`{function}` 的反向传播返回了 NaN",
        "torch 的异常检测停在第一个梯度为 NaN 的操作上。要么其输入处导数为无穷大(对数或开方在 0、log1p 在 -1、"
        "除以 0、整行被屏蔽的 softmax),要么 NaN 来自损失本身。",
        "阅读 torch 在异常上方打印的前向调用栈,它指出了调用位置。把该调用的输入限制在安全范围内,把整行被屏蔽的样本"
        "排除在损失之外,或用 fp32 计算。之后关闭 `set_detect_anomaly`,因为它会降低训练速度。",
    ),
)

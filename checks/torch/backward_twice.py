"""Backward ran twice through one graph.

## What it means
Autograd frees the graph with the first backward pass. A second loss that shares a part of it, a hidden state
carried to the next step, or a loss that is kept and summed asks for it again.
## What it does to a run
The second backward pass raises RuntimeError.
## What to do
Add the losses before one backward pass, and detach what is carried over.
## How it is found
In a log: by autograd's exception.
## References
https://docs.pytorch.org/docs/stable/notes/autograd.html
https://docs.pytorch.org/docs/stable/generated/torch.autograd.backward.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR034", name="backward-twice", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"RuntimeError: Trying to backward through the graph a second time"),)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "backward ran a second time through a graph that was already freed",
        "Two losses share a part of the graph, or a tensor of an earlier step (a hidden state, a "
        "summed loss) is used again.",
        "Sum the losses and call backward once, `.detach()` what is carried to the next step, "
        "and log `loss.item()` instead of `loss`; `retain_graph=True` only where both passes are "
        "meant.",
    ),
    zh=Words(
        "对已释放的计算图进行了第二次反向传播",
        "两个损失共享计算图的一部分,或再次使用了前一步的张量(隐藏状态、累加的损失)。",
        "把损失相加后只调用一次反向,对带入下一步的张量用 `.detach()`,记录日志用 `loss.item()` "
        "而非 `loss`;只有确实需要两次时才用 `retain_graph=True`。",
    ),
)

"""An operation on sharded weights (DTensor) has no rule in the installed PyTorch.

## What it means
Under FSDP2 and tensor parallelism each operation on weights, gradients and optimizer state needs a rule how its
result is sharded.
## What it does to a run
NotImplementedError at the first step that uses it.
## What to do
What the finding says for the message.
## How it is found
In a log: by the message that the library raises.
## References
https://docs.pytorch.org/docs/stable/distributed.tensor.html
https://github.com/pytorch/pytorch/blob/v2.7.1/torch/distributed/tensor/_sharding_prop.py
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="FSD017", name="operation-without-sharding-rule", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        r"NotImplementedError: Operator (?P<op>[\w.]{3,100}) does not have a sharding strategy registered",
        Message(
            en=Words(
                "`{op}` has no rule for sharded weights (DTensor) in this PyTorch",
                "The optimizer (8-bit, paged, fused or of another library), the gradient clipping or own code "
                "uses it on weights that FSDP2 or tensor parallelism shards.",
                '`pip install -U torch`; a plain optimizer (`optim="adamw_torch"`, `foreach=False`, torchao\'s '
                "instead of bitsandbytes' 8-bit); or FSDP1 (`fsdp_version: 1`). In own code take the local part: "
                "`p.to_local()`.",
            ),
            zh=Words(
                "该 PyTorch 中 `{op}` 没有用于分片权重(DTensor)的规则",
                "优化器(8 位、分页、fused 或其他库的)、梯度裁剪或自己的代码对 FSDP2 或张量并行分片的权重使用了它。",
                '`pip install -U torch`;使用普通优化器(`optim="adamw_torch"`、`foreach=False`,或以 torchao 的 8 '
                "位代替 bitsandbytes);或用 FSDP1(`fsdp_version: 1`)。自己的代码中取本地部分:`p.to_local()`。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)

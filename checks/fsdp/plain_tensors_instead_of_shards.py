"""Weights are plain tensors where the trainer expects sharded ones.

## What it means
With one GPU FSDP has nothing to divide (`NO_SHARD`), and its state dict holds plain tensors. Code that gathers shards
before it sends weights to the rollout engine calls `full_tensor()` on them, which only sharded tensors (DTensor) have.
## What it does to a run
The first transfer of weights, or the first checkpoint, fails.
## What to do
Use two GPUs or more, or a release that allows for one.
## How it is found
In a log: by the attribute that a plain tensor lacks.
## References
https://github.com/hiyouga/EasyR1/issues/63
https://github.com/hiyouga/EasyR1/issues/78
https://github.com/rllm-org/rllm/issues/110
https://docs.pytorch.org/docs/stable/distributed.tensor.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="FSD022", name="plain-tensors-instead-of-shards", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"AttributeError: '(?:Tensor|Parameter)' object has no attribute '(?P<name>full_tensor|to_local|device_mesh|"
        r"placements|_local_tensor)'",
        symptom_of=("FSD020",),
    ),
    Signature(r"UserWarning: When using ``NO_SHARD`` for ``ShardingStrategy``, full_state_dict", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "a plain tensor came where code expects one that FSDP sharded (`{name}`)",
        "{why}Only sharded tensors (DTensor) have `{name}`. Other ways to plain tensors: a state dict that was "
        "gathered already, parameters that FSDP was told to ignore, or a module that was never wrapped.",
        "Run on two GPUs or more (early releases of EasyR1 and veRL need them), or upgrade the trainer: later "
        "releases ask whether a tensor is sharded. In code of your own: `if isinstance(t, "
        "torch.distributed.tensor.DTensor): t = t.full_tensor()`.",
    ),
    zh=Words(
        "代码期望由 FSDP 分片的张量(`{name}`),得到的却是普通张量",
        "{why_zh}只有分片张量(DTensor)才有 `{name}`。其他得到普通张量的途径:state dict 已被汇聚,参数被设为 FSDP 忽略,"
        "或模块从未被包装。",
        "使用两张或更多 GPU(EasyR1 与 veRL 的早期版本需要),或升级训练框架:后来的版本会先判断张量是否分片。若是自己的代"
        "码:`if isinstance(t, torch.distributed.tensor.DTensor): t = t.full_tensor()`。",
    ),
)
_ONE = "FSDP runs on one GPU here and does not shard (`NO_SHARD`). "
_ONE_ZH = "此处 FSDP 只用一张 GPU,没有分片(`NO_SHARD`)。"
_MOSTLY = "Mostly the run has one GPU for the trainer, where FSDP does not shard. "
_MOSTLY_ZH = "多半是训练端只有一张 GPU,FSDP 没有分片。"


def explain(hits: Hits) -> Finding | None:
    """FSDP's own warning says for sure that nothing was sharded."""
    named = hits.of(0)
    if not named:
        return None
    one = bool(hits.of(1))
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        name=named[0].groups["name"], why=_ONE if one else _MOSTLY, why_zh=_ONE_ZH if one else _MOSTLY_ZH,
    )  # fmt: skip

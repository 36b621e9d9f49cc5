"""A weight is larger than the bucket in which veRL sends weights.

## What it means
veRL hands the actor's weights to the rollout engine in buckets of `update_weights_bucket_megabytes`. A tensor is not
divided: the embedding of a large vocabulary, or the experts of a layer in one tensor, must fit as a whole.
## What it does to a run
The first transfer of weights ends the run.
## What to do
A larger bucket.
## How it is found
In a log, by veRL's assertion, with the shape and the precision of the tensor.
## References
https://github.com/verl-project/verl/blob/main/verl/workers/rollout/vllm_rollout/bucketed_weight_transfer.py
https://verl.readthedocs.io/en/latest/examples/config.html
"""

from __future__ import annotations

from math import prod

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VRL034", name="weight-above-bucket", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Weight (?P<weight>[\w.\-]{1,200})\((?:torch\.Size\(\[)?(?P<shape>\d[\d, ]{0,80})\]?\)?, (?"
        r"P<dtype>torch\.\w{2,20})\) is too large to fit in the bucket",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the weight `{weight}` ({size} MB) does not fit into veRL's bucket for sending weights",
        "The bucket holds whole tensors only. The largest ones are the embedding and the output layer "
        "(vocabulary times hidden size) and experts that are kept in one tensor; in float32 they need twice "
        "the room of bfloat16.",
        "Set `actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes={wanted}` "
        "(`actor_rollout_ref.rollout.update_weights_bucket_megabytes` in older releases). The bucket is taken"
        " from GPU or shared memory on both sides, so keep it near the size of the largest tensor.",
    ),
    zh=Words(
        "权重 `{weight}`({size} MB)放不进 veRL 发送权重的 bucket",
        "bucket 只容纳完整的张量。最大的是 embedding 与输出层(词表乘以隐藏维度),以及存放在单个张量中"
        "的专家;float32 需要 bfloat16 的两倍空间。",
        "设置 `actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes={wanted}`("
        "较旧版本为 `actor_rollout_ref.rollout.update_weights_bucket_megabytes`)。bucket 在两端都占用"
        "显存或共享内存,请设为略大于最大张量。",
    ),
)


_BYTES = {"torch.float32": 4, "torch.float64": 8, "torch.float8_e4m3fn": 1, "torch.int8": 1, "torch.uint8": 1}
_MEBIBYTE, _STEP = 2**20, 512  # buckets are given in steps that are easy to read


def explain(hits: Hits) -> Finding | None:
    """With the size of the tensor, and the next bucket that holds it."""
    shape, dtype = hits.get("shape"), hits.get("dtype") or ""
    if not shape:
        return None
    size = -(
        -prod(int(each) for each in shape.replace(" ", "").strip(",").split(",")) * _BYTES.get(dtype, 2) // _MEBIBYTE
    )
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        weight=hits.get("weight") or "",
        size=size,
        wanted=-(-size // _STEP) * _STEP,
    )

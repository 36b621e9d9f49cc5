"""Gradient checkpointing computed something else the second time.

## What it means
Activation checkpointing runs a layer again in the backward pass and compares the tensors that it saves. They
differ where the layer depends on something that changed in between: a growing key-value cache, weights that
ZeRO-3 has partitioned again (shape [0]), shards of context parallelism, autocast that is on in one pass only,
checkpointing switched on twice.
## What it does to a run
The first backward pass raises CheckpointError on every rank.
## What to do
Use reentrant checkpointing where ZeRO-3 or FSDP partitions weights, and switch the cache off.
## How it is found
In a log: by torch's exception; recomputed shapes of zero elements show partitioned weights.
## References
https://docs.pytorch.org/docs/stable/checkpoint.html
https://github.com/huggingface/transformers/issues/34928
https://github.com/deepspeedai/DeepSpeed/pull/8148
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR030", name="checkpoint-recomputed-differently", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"torch\.utils\.checkpoint: Recomputed values for the following tensors have different "
        r"metadata than during the forward pass"
    ),
    Signature(
        r"torch\.utils\.checkpoint: A different number of tensors was saved during the original "
        r"forward and recomputation"
    ),
    Signature(r"torch\.utils\.checkpoint: Unpack is being triggered for a tensor that was (?:either never|already)"),
    Signature(r"^recomputed metadata: \{'shape': torch\.Size\(\[(?P<empty>0)\]\)", kind="sign"),
)


LOG_MESSAGE = Message(
    en=Words(
        "gradient checkpointing got other tensors when it ran a layer again",
        "The layer does not compute the same in forward and in backward: a key-value cache that "
        "grows (`use_cache`), checkpointing switched on twice (FSDP's `activation_checkpointing` "
        "and the Trainer's), autocast in one pass only, or sequence shards of context "
        "parallelism.",
        "Set `model.config.use_cache=False` and switch checkpointing on in one place only; then "
        'try `gradient_checkpointing_kwargs={{"use_reentrant": True}}` (and `False` if it was '
        "True).",
    ),
    zh=Words(
        "梯度检查点重新运行某层时得到了不同的张量",
        "该层在前向与反向中的计算不同:不断增长的键值缓存(`use_cache`)、检查点被开启两次(FSDP 的 "
        "`activation_checkpointing` 与 Trainer 的)、只在一次中启用的 autocast,"
        "或上下文并行的序列分片。",
        "设置 `model.config.use_cache=False`,并只在一处开启检查点;然后尝试 "
        '`gradient_checkpointing_kwargs={{"use_reentrant": True}}`(若原为 True 则改为 `False`)。',
    ),
)

PARTITIONED = Message(
    en=Words(
        "gradient checkpointing found partitioned weights when it ran a layer again",
        "What was recomputed has no elements: ZeRO-3 (or FSDP) had given the gathered weights "
        "back before the second run of the layer. It happens with non-reentrant checkpointing, "
        "above all where parameters are frozen (LoRA).",
        'Set `gradient_checkpointing_kwargs={{"use_reentrant": True}}`, upgrade DeepSpeed, or '
        "use ZeRO-2, which keeps the weights whole.",
    ),
    zh=Words(
        "梯度检查点重新运行某层时遇到了已分片的权重",
        "重新计算得到的张量没有元素:在第二次运行该层之前,ZeRO-3(或 FSDP)已释放收集来的权重。"
        "这发生在非可重入检查点下,尤其是有冻结参数(LoRA)时。",
        '设置 `gradient_checkpointing_kwargs={{"use_reentrant": True}}`,升级 DeepSpeed,或使用保持权重完整的 ZeRO-2。',
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Tensors of no elements are weights that were partitioned again."""
    message = PARTITIONED if hits.get("empty") else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)

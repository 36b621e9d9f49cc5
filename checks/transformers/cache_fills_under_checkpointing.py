"""The key-value cache grows when a checkpointed layer is computed again.

## What it means
With gradient checkpointing a layer runs twice. A cache that is kept in training holds its keys from the first time, so
at the second the keys are twice as many as the mask allows. Transformers 4.36.0 and 4.36.1 did that by mistake; model
code from the Hub and loops that set `use_cache` still can.
## What it does to a run
The backward pass raises.
## What to do
No cache in training.
## How it is found
In a log: by a key length that is twice the mask's.
## References
https://github.com/huggingface/transformers/issues/28056
https://github.com/huggingface/trl/issues/1088
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF048", name="cache-fills-under-checkpointing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: Attention mask should be of size \((?P<batch>\d{1,6}), 1, (?P<queries>\d{1,8}), "
        r"(?P<keys>\d{1,8})\), but is "
        r"(?:torch\.Size\()?\[\d{1,6}, \d{1,4}, \d{1,8}, (?P<mask>\d{1,8})\]"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "attention got {keys} keys and a mask for {mask}: the cache was filled twice",
        "A checkpointed layer runs a second time in the backward pass, and the key-value cache still holds "
        "what the first time put in. Transformers 4.36.0 and 4.36.1 kept a cache in training.",
        "Switch the cache off in training: `model.config.use_cache = False` (TRL and LLaMA-Factory do it "
        'with `gradient_checkpointing`), and upgrade: `pip install -U "transformers>=4.36.2"`; or use '
        '`gradient_checkpointing_kwargs={{"use_reentrant": False}}`.',
    ),
    zh=Words(
        "注意力得到 {keys} 个 key,而掩码只对应 {mask} 个:缓存被填了两次",
        "检查点层在反向传播中会再运行一次,而 key-value 缓存仍保留第一次写入的内容。Transformers 4.36.0 和"
        " 4.36.1 在训练中保留了缓存。",
        "训练时关闭缓存:`model.config.use_cache = False`(TRL 和 LLaMA-Factory 在 `gradient_checkpointing` "
        '时会这样做),并升级:`pip install -U "transformers>=4.36.2"`;或使用'
        ' `gradient_checkpointing_kwargs={{"use_reentrant": False}}`。',
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only a key length of exactly twice the mask's tells of a cache; other sizes are another mistake."""
    keys, mask = int(hits.get("keys") or 0), int(hits.get("mask") or 0)
    if not mask or keys != 2 * mask:
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, keys=keys, mask=mask
    )

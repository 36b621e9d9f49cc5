"""Liger's fused loss leaves the logits out, and the trainer reads them.

## What it means
`use_liger_kernel=True` patches the model so that its loss comes from the hidden states and `outputs.logits` is None
while training. A trainer that computes more from the logits (token accuracy, entropy, a loss of its own) must not
ask for them then; TRL 0.15 skips that only for its own switch `use_liger`.
## What it does to a run
The first step raises TypeError.
## What to do
Train without Liger's kernels, or with a release whose trainer knows about them.
## How it is found
In a log: by the exception in `compute_loss` of a trainer, at a line that takes a slice of the logits.
## References
https://github.com/linkedin/Liger-Kernel/issues/568
https://github.com/linkedin/Liger-Kernel/issues/328
https://github.com/huggingface/trl/blob/v0.15.0/trl/trainer/sft_trainer.py
https://github.com/huggingface/trl/blob/v0.16.0/trl/trainer/sft_trainer.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRL069", name="liger-returns-no-logits", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^(?:TypeError: 'NoneType' object is not subscriptable|AttributeError: 'NoneType' object has no attribute "
        r"'(?:shape|size|float|contiguous|view|log_softmax)')",
        frame=r"\.py:(?:\w{0,30}compute_loss\w{0,20}|concatenated_forward|get_batch_loss_metrics)$",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the trainer reads `outputs.logits`, which a model under Liger does not return",
        "With Liger's kernels the loss is computed from the hidden states and the logits are never made. This trainer "
        "wants them all the same (TRL 0.15 for the token accuracy, where `use_liger_kernel` was set and its own "
        "`use_liger` was not).",
        "Set `use_liger_kernel=False` (and `use_liger: false` in TRL 0.15's configuration), or upgrade TRL to 0.16 or "
        "newer (`pip install -U trl`), which skips these metrics with Liger. In a loss of your own use the model "
        "without Liger, or keep the logits: `apply_liger_kernel_to_...(fused_linear_cross_entropy=False, "
        "cross_entropy=True)`.",
    ),
    zh=Words(
        "训练器读取 `outputs.logits`,而模型没有返回它:Liger 的融合损失不产生 logits",
        "使用 Liger 内核时,损失直接由隐藏状态计算,不生成 logits。该训练器仍然需要它(TRL 0.15 用于计算 token 准确率:"
        "设置了 `use_liger_kernel`,而没有设置它自己的 `use_liger`)。",
        "设置 `use_liger_kernel=False`(TRL 0.15 的配置中还要 `use_liger: false`),或把 TRL 升级到 0.16 及以上(`pip "
        "install -U trl`),其在使用 Liger 时跳过这些指标。自定义损失请不用 Liger,或保留 logits:"
        "`apply_liger_kernel_to_...(fused_linear_cross_entropy=False, cross_entropy=True)`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only where the line that raised reads logits, or TRL's supervised trainer raised, which reads nothing else so."""
    first = hits.first
    own = bool(first.frames) and "sft_trainer.py:" in first.frames[-1]
    if "logits" not in first.code and not own:
        return None
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)

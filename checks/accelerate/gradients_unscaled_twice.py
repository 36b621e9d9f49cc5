"""Gradients are unscaled twice between two steps of the optimizer.

## What it means
With fp16 a scaler multiplies the loss; before clipping, gradients are divided again, once for each optimizer step.
Clipping in a micro-step of gradient accumulation, in which no step follows, makes the next clipping the second one.
## What it does to a run
RuntimeError, often at the end of the first epoch, or in the second micro-step.
## What to do
Clip only where gradients are synchronised; with the Trainer of Transformers 4.29 to 4.30 upgrade.
## How it is found
In a log: by the exception of torch's gradient scaler.
## References
https://github.com/huggingface/transformers/issues/23935
https://github.com/huggingface/transformers/pull/24415
https://github.com/huggingface/accelerate/issues/641
https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-clipping
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="ACC022", name="gradients-unscaled-twice", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"^RuntimeError: unscale_\(\) has already been called on this optimizer since the last update\(\)"),
    Signature(r"^RuntimeError: unscale_\(\) is being called after step\(\)"),
)

LIBRARY = Message(
    en=Words(
        "the Trainer unscaled the fp16 gradients twice before one step (`unscale_`)",
        "Transformers 4.29 to 4.30 and Accelerate count the micro-steps of gradient accumulation differently: at the "
        "end of an epoch Accelerate begins anew, no optimizer step follows, and the next clipping unscales again.",
        'Upgrade both: `pip install -U "transformers>=4.31" "accelerate>=0.21"`. To stay: a number of batches per '
        "epoch that `gradient_accumulation_steps` divides, `gradient_accumulation_steps=1`, or `bf16=True`, which "
        "needs no scaler.",
    ),
    zh=Words(
        "Trainer 在一次优化器步之前对 fp16 梯度反缩放了两次(`unscale_`)",
        "Transformers 4.29 至 4.30 与 Accelerate 对梯度累积的微步计数不同:在一个 epoch 结束时 Accelerate 重新计数,没有"
        "执行优化器步,于是下一次裁剪再次反缩放。",
        '同时升级:`pip install -U "transformers>=4.31" "accelerate>=0.21"`。若不能升级:使每个 epoch 的批次数能被 '
        "`gradient_accumulation_steps` 整除,或设 `gradient_accumulation_steps=1`,或用不需要缩放器的 `bf16=True`。",
    ),
)
OWN = Message(
    en=Words(
        "the training loop unscales the fp16 gradients twice before one step (`unscale_`)",
        "Clipping unscales the gradients, and that may happen once for each optimizer step: here it is done in every "
        "micro-step of gradient accumulation, for two parameter lists of one optimizer, or by hand beside Accelerate.",
        "Clip only when a step follows: `if accelerator.sync_gradients: "
        "accelerator.clip_grad_norm_(model.parameters(), 1.0)`; in a plain loop call `scaler.unscale_`, `scaler.step` "
        'and `scaler.update` once each. With bf16 no scaler is needed (`mixed_precision="bf16"`). A Trainer of '
        "Transformers 4.29 or 4.30: upgrade Transformers and Accelerate.",
    ),
    zh=Words(
        "训练循环在一次优化器步之前对 fp16 梯度反缩放了两次(`unscale_`)",
        "裁剪会对梯度反缩放,每个优化器步只能进行一次:此处在梯度累积的每个微步都执行,或对同一优化器的两组参数执行,或在使"
        "用 Accelerate 的同时手工执行。",
        "只在随后有优化器步时裁剪:`if accelerator.sync_gradients: accelerator.clip_grad_norm_(model.parameters(), "
        "1.0)`;普通循环中 `scaler.unscale_`、`scaler.step`、`scaler.update` 各调用一次。bf16 不需要缩放器"
        '(`mixed_precision="bf16"`)。若是 Transformers 4.29 或 4.30 的 Trainer,请升级 Transformers 和 Accelerate。',
    ),
)

MESSAGES = (LIBRARY, OWN)


def explain(hits: Hits) -> Finding:
    """Tell the Trainer of Transformers from a loop of the user's own."""
    trainer = any("transformers/trainer.py:" in each.replace("\\", "/") for each in hits.first.frames)
    return found(PROBLEM, LIBRARY if trainer else OWN, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)

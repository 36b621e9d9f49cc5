"""`auto` in the DeepSpeed configuration cannot be filled in for this model.

## What it means
Bucket sizes and thresholds of ZeRO follow from the model's hidden size. The configuration of a composite model
(images, sound, encoder and decoder) or of one's own class does not hold it where Transformers or accelerate looks.
## What it does to a run
ValueError when training starts.
## What to do
Write numbers in place of `auto`.
## How it is found
In a log: by the exceptions of Transformers and accelerate, which list the keys.
## References
https://github.com/hiyouga/LlamaFactory/issues/4754
https://github.com/huggingface/transformers/pull/33829
https://huggingface.co/docs/transformers/deepspeed#zero-configuration
"""

from __future__ import annotations

import re

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DSP036", name="deepspeed-auto-not-filled", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: The model's config file has neither `hidden_size` nor `hidden_sizes` entry, .{0"
        r",120}`auto` entries"
        r" in the DeepSpeed config file: (?P<keys>\[[^\]\n]{1,400}\])"
    ),
    Signature(
        r"ValueError: Can(?:'t find `model\.config` entry| find neither `model\.config\.hidden_size` nor"
        r" `model\.config\.hidden_sizes`), .{0,120}`auto` entries in the DeepSpeed config file:"
        r" (?P<keys>\[[^\]\n]{1,400}\])"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the model's hidden size is not where `auto` of the DeepSpeed configuration looks for it",
        "{keys} are `auto` and would be computed from it.",
        "Write numbers instead, with H the hidden size of the language model: `reduce_bucket_size` H*H, "
        "`stage3_prefetch_bucket_size` 0.9*H*H, `stage3_param_persistence_threshold` 10*H (for H=4096: 16777216, "
        "15099494, 40960). Or set `model.config.hidden_size = model.config.text_config.hidden_size` before the trainer "
        "is made, or upgrade Transformers, which has learnt to look into `text_config`.",
    ),
    zh=Words(
        "DeepSpeed 配置中的 `auto` 找不到模型的 hidden size",
        "{keys} 为 `auto`,要由它算出。",
        "改写为数值,H 为语言模型的 hidden size:`reduce_bucket_size` 为 H*H,`stage3_prefetch_bucket_size` 为 0.9*H*H,"
        "`stage3_param_persistence_threshold` 为 10*H(H=4096 时为 16777216、15099494、40960)。或在创建训练器之前设置 "
        "`model.config.hidden_size = model.config.text_config.hidden_size`,或升级会查看 `text_config` 的 "
        "Transformers。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Name the keys by their last parts."""
    keys = re.findall(r"[\w.]{4,80}", hits.get("keys") or "")
    shown = ", ".join(f"`{each.rpartition('.')[2]}`" for each in keys)
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), keys=shown)

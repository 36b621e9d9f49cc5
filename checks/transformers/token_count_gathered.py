"""Counting the tokens of a step fails on several GPUs.

## What it means
Transformers 4.46.0 and 4.46.1 gather one number per rank and read it as a single one when
`include_num_input_tokens_seen` is on.
## What it does to a run
The first step raises on every rank; with one GPU it works.
## What to do
Upgrade Transformers, or switch the count off.
## How it is found
In a log: by torch's words below the Trainer's own loop.
## References
https://github.com/huggingface/transformers/issues/34503
https://github.com/hiyouga/LlamaFactory/issues/5885
https://github.com/huggingface/transformers/blob/v4.46.1/src/transformers/trainer.py
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF040", name="token-count-gathered", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"RuntimeError: a Tensor with (?P<count>\d{1,5}) elements cannot be converted to Scalar",
        frame=r"transformers[\\/]trainer\.py:_inner_training_loop",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the Trainer counts input tokens over {count} ranks and takes {count} numbers for one",
        "A mistake of Transformers 4.46.0 and 4.46.1, with `include_num_input_tokens_seen` on more than "
        "one GPU: it gathers a number from each rank and does not add them. LLaMA-Factory switches the "
        "option on.",
        'Upgrade: `pip install -U "transformers>=4.47"` (4.45.2 works as well), or set '
        "`include_num_input_tokens_seen=False` (LLaMA-Factory: `include_num_input_tokens_seen: false`).",
    ),
    zh=Words(
        "Trainer 在 {count} 个 rank 上统计输入 token,把 {count} 个数当作一个",
        "这是 Transformers 4.46.0 和 4.46.1 在多 GPU 上启用 `include_num_input_tokens_seen` 时的缺陷:它从每"
        "个 rank 收集一个数却没有求和。LLaMA-Factory 会打开该选项。",
        '升级:`pip install -U "transformers>=4.47"`(4.45.2 也可用),或设'
        " `include_num_input_tokens_seen=False`(LLaMA-Factory:`include_num_input_tokens_seen: false`)。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only where the Trainer itself reads the number, not the user's code below it."""
    frames = hits.first.frames
    if frames and "transformers" not in frames[-1]:
        return None
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), count=hits.get("count") or "?")

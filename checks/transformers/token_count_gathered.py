"""Counting the tokens of a step fails on several GPUs.

## What it means
Transformers 4.46.0 and 4.46.1 gather one number per rank and read it as a single one when
`include_num_input_tokens_seen` is on. Around 4.54 the count of `average_tokens_across_devices` stays on the CPU, where
NCCL cannot gather it.
## What it does to a run
The first step raises on every rank; with one GPU it works.
## What to do
Upgrade Transformers, or switch the count off.
## How it is found
In a log: by torch's words below the Trainer's own loop.
## References
https://github.com/huggingface/transformers/issues/34503
https://github.com/hiyouga/LlamaFactory/issues/5885
https://github.com/huggingface/transformers/issues/39896
https://github.com/huggingface/transformers/blob/v4.46.1/src/transformers/trainer.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF040", name="token-count-gathered", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"RuntimeError: a Tensor with (?P<count>\d{1,5}) elements cannot be converted to Scalar",
        frame=r"transformers[\\/]trainer\.py:_inner_training_loop",
    ),
    Signature(
        r"(?:ValueError|RuntimeError): (?:Tensors must be CUDA and dense|No backend type associated with device type "
        r"cpu)",
        frame=r"transformers[\\/]trainer\.py:(?:get_batch_samples|_get_num_items_in_batch|compute_loss)",
    ),
)

AVERAGE = Message(
    en=Words(
        "the Trainer gathers the number of tokens of a step from a tensor on the CPU",
        "With `average_tokens_across_devices` (on by default since Transformers 4.54) the count is gathered over the "
        "ranks by NCCL, which takes GPU tensors only; a data collator or `get_batch_samples` of a subclass, and "
        "releases around 4.54, leave it on the CPU.",
        "Set `average_tokens_across_devices=False` in the training arguments (the loss is then averaged per rank), or "
        "upgrade: `pip install -U transformers`; in a subclass move the count to `self.args.device`.",
    ),
    zh=Words(
        "Trainer 从 CPU 上的张量收集某一步的 token 数",
        "启用 `average_tokens_across_devices`(自 Transformers 4.54 起默认开启)时,该计数经 NCCL 在各 rank 间收集,而 "
        "NCCL 只接受 GPU 张量;数据整理器、子类的 `get_batch_samples` 以及 4.54 前后的版本会把它留在 CPU 上。",
        "在训练参数中设 `average_tokens_across_devices=False`(损失改为按 rank 平均),或升级:`pip install -U "
        "transformers`;在子类中把计数移到 `self.args.device`。",
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
    if hits.of(1):
        return found(PROBLEM, AVERAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    frames = hits.first.frames
    if frames and "transformers" not in frames[-1]:
        return None
    code = hits.first.code
    if code and "input_tokens" not in code:
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), count=hits.get("count") or "?",
        confidence=CONFIRMED if code else LIKELY,
    )  # fmt: skip

"""The collator got rows that were never tokenized.

## What it means
The plain data collators pad `input_ids`. The rows still hold texts or messages: the tokenizing `map` was left out, its
result not used, or its columns were removed as unused.
## What it does to a run
ValueError in the first batch.
## What to do
Tokenize the dataset, or leave the collator to the trainer that prepares the data itself.
## How it is found
In a log: by the tokenizer's exception, which lists the columns it got.
## References
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/tokenization_utils_base.py
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/sft_trainer.py
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT042", name="batch-without-input-ids", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: You should supply an encoding or a list of encodings to this method that includes"
        r" (?P<wanted>\w{2,40}),"
        r" but you provided (?P<there>\[[^\]\n]{0,400}\])"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a batch was to be padded and holds no `{wanted}`, only {there}",
        "The rows reached the data collator without having been tokenized, or `remove_unused_columns` took the tokens "
        "away because the model's `forward` does not name them.",
        "Tokenize first (`dataset = dataset.map(tokenize, batched=True)`, and use what `map` returns). With a "
        "collator of "
        "your own that tokenizes: `remove_unused_columns=False`. In TRL leave `data_collator` out: the trainer "
        "prepares "
        "`prompt`, `text` or `messages` itself.",
    ),
    zh=Words(
        "要填充的批次中没有 `{wanted}`,只有 {there}",
        "样本未经分词就到了 data collator,或 `remove_unused_columns` 因模型的 `forward` 未列出这些列而把它们删除。",
        "先分词(`dataset = dataset.map(tokenize, batched=True)`,并使用 `map` 的返回值)。若自己的 collator 负责分词:"
        "`remove_unused_columns=False`。在 TRL 中去掉 `data_collator`:训练器会自行处理 `prompt`、`text` 或 "
        "`messages`。",
    ),
)


OTHER_NAMES = Message(
    en=Words(
        "a batch was to be padded and holds no `{wanted}`: its tokens go by other names, {there}",
        "The rows were tokenized by a trainer for pairs or prompts (DPO, KTO, GRPO), whose own collator pads these "
        "columns. Another collator came after it: one that was passed, one that a wrapper (Unsloth) chose, or the "
        "plain one that this release takes for a processor.",
        "Leave `data_collator` out, so that the trainer takes its own. If none was passed, upgrade what stands "
        "between: `pip install -U trl` (and Unsloth). With a model that sees images give the `processor` as "
        "`processing_class` when the rows hold images, `processor.tokenizer` when they hold text only.",
    ),
    zh=Words(
        "要填充的批次中没有 `{wanted}`:其 token 使用其他列名,{there}",
        "样本由面向偏好对或 prompt 的训练器(DPO、KTO、GRPO)分词,该训练器自己的 collator 会填充这些列。之后却用了另一个 "
        "collator:自行传入的、封装(Unsloth)选择的,或该版本对 processor 使用的普通 collator。",
        "去掉 `data_collator`,让训练器使用自己的。如果没有传入,则升级中间的包:`pip install -U trl`(以及 Unsloth)。对多"
        "模态模型,样本含图像时把 `processor` 作为 `processing_class`,只有文本时用 `processor.tokenizer`。",
    ),
)


#: columns in which the trainers of TRL keep tokens
_TOKENS = re.compile(r"(?:prompt|chosen|rejected|completion|answer)_(?:input_)?ids")


def explain(hits: Hits) -> Finding | None:
    """List the columns that were there."""
    there = [each.strip(" '\"") for each in (hits.get("there") or "").strip("[]").split(",")]
    names = ", ".join(f"`{each}`" for each in there[:6] if each) or "nothing"
    tokenized = any(_TOKENS.fullmatch(each) for each in there)
    return found(
        PROBLEM,
        OTHER_NAMES if tokenized else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if tokenized else CONFIRMED,
        wanted=hits.get("wanted") or "input_ids",
        there=names,
    )

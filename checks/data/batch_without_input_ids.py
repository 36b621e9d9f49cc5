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

from doctor.core.finding import Finding, Message, Words, found
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


def explain(hits: Hits) -> Finding | None:
    """List the columns that were there."""
    there = [each.strip(" '\"") for each in (hits.get("there") or "").strip("[]").split(",")]
    names = ", ".join(f"`{each}`" for each in there[:6] if each) or "nothing"
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), wanted=hits.get("wanted") or "input_ids",
        there=names,
    )  # fmt: skip

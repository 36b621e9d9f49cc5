"""The collator that trains on answers only does not find where the answer begins.

## What it means
`DataCollatorForCompletionOnlyLM` of TRL (until 0.19) looks for the token ids of `response_template` in every row.
Many tokenizers give the same text other ids inside a sentence than alone, and a row that was cut has no answer
left.
## What it does to a run
TRL before 0.7 stops with RuntimeError; later ones warn and leave the row out of the loss, which becomes 0 or NaN when
that is so for all.
## What to do
Give the ids as they stand in the text, or let newer TRL mask prompts by itself.
## How it is found
In a log: by the exception or warning of the collator.
## References
https://github.com/huggingface/trl/issues/588
https://github.com/huggingface/trl/issues/1920
https://github.com/huggingface/trl/blob/v0.19.1/trl/trainer/utils.py
https://huggingface.co/docs/trl/sft_trainer
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT055", name="response-template-not-found", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"^RuntimeError: Could not find (?P<what>response|instruction) key \[?\d"),
    Signature(
        r"UserWarning: Could not find (?P<what>response|instruction) key `?.{1,200}? in the following instance: ",
        kind="warning",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the {what} template of the collator is not found in the rows",
        "TRL compares token ids, not text: the template alone is often tokenized otherwise than after a newline or a "
        "word (Llama's leading space), ends in a space, or stood in a part that was cut off at the maximal length. "
        "Such "
        "rows count nothing in the loss.",
        "Pass the ids as they stand in context, without the first ones: `response_template_ids = "
        'tokenizer.encode("\\n### Answer:", add_special_tokens=False)[2:]`, no space at its end, and raise the maximal '
        "length. Simpler with TRL 0.20 and newer, which has no such collator: a dataset with `prompt` and `completion` "
        "(`completion_only_loss`), or conversations with `assistant_only_loss=True`.",
    ),
    zh=Words(
        "在数据行中找不到 collator 的 {what} 模板",
        "TRL 比较的是 token id 而非文本:单独的模板与换行或单词之后的模板常被切分成不同的 token(Llama 的前导空格)、模板"
        "以空格"
        "结尾,或所在部分因超过最大长度被截断。这些行不计入损失。",
        "传入上下文中的 id,去掉开头几个:`response_template_ids = "
        'tokenizer.encode("\\n### Answer:", add_special_tokens=False)[2:]`,末尾不要空格,并增大最大长度。TRL 0.20 及以'
        "上已"
        "没有该 collator,更简单:使用含 `prompt` 与 `completion` 的数据集(`completion_only_loss`),或对话数据加 "
        "`assistant_only_loss=True`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """An exception ends the run; a warning leaves the row out."""
    stopped = hits.of(0)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        severity=ERROR if stopped else WARNING, what=hits.get("what"),
    )  # fmt: skip

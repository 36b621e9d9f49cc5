"""A batch could not be made into a tensor.

## What it means
The collator pads what it knows (`input_ids`, `attention_mask`); rows of another column stay lists of
different lengths, nested lists or text, and no tensor can be made of them: `labels` made in `map` without
padding, a text column that was kept (`remove_unused_columns=False`), a row that is empty or None.
## What it does to a run
The first batch, or the first that holds such a row, raises ValueError.
## What to do
Remove or pad the column that is named.
## How it is found
In a log: by Transformers' exception, which names the column.
## References
https://huggingface.co/docs/transformers/pad_truncation
https://github.com/shibing624/MedicalGPT/issues/76
https://github.com/argilla-io/argilla/issues/4513
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT024", name="batch-not-made", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: Unable to create tensor, you should probably activate truncation and/or "
        r"padding(?:[^\n]{0,200}Perhaps your features \(`(?P<column>[^`\n]{1,60})` in this "
        r"case\))?"
    ),
    Signature(
        r"^\(`(?P<column>[^`\n]{1,60})` in this case\) have excessive nesting|^Perhaps your "
        r"features \(`(?P<feature>[^`\n]{1,60})` in this case\)",
        kind="sign",
    ),
)


LOG_MESSAGE = Message(
    en=Words(
        "no tensor can be made of column `{column}`: its rows differ in length or are no numbers",
        "The collator padded the inputs, but `{column}` holds lists of different lengths, nested "
        "lists, text or None. For `labels` the tokenizing `map` made them without padding; for a "
        "text column the dataset still carries what the model does not take.",
        "For `labels` use a collator that pads them: `DataCollatorForSeq2Seq(tokenizer, "
        "padding=True)` (or `DataCollatorForLanguageModeling`, which makes them). Drop other "
        "columns with `dataset.map(..., remove_columns=dataset.column_names)` and leave "
        "`remove_unused_columns=True`; tokenize with `truncation=True`.",
    ),
    zh=Words(
        "列 `{column}` 无法转成张量:各行长度不同或不是数字",
        "整理器已填充输入,但 `{column}` 含有不同长度的列表、嵌套列表、文本或 None。若为 `labels`,"
        "是分词的 `map` 未做填充;若为文本列,则数据集仍带着模型不接受的内容。",
        "`labels` 请用会填充它的整理器:`DataCollatorForSeq2Seq(tokenizer, "
        "padding=True)`(或自行生成标签的 `DataCollatorForLanguageModeling`)。其他列用 "
        "`dataset.map(..., remove_columns=dataset.column_names)` 去掉,并保持 "
        "`remove_unused_columns=True`;分词时加 `truncation=True`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Name the column where the message, or its next line, does."""
    column = hits.get("column") or hits.get("feature") or "labels"
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), column=column, confidence=LIKELY)

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
    Signature(
        r"^ValueError: expected sequence of length \d{1,9} at dim \d \(got \d{1,9}\)",
        frame=r"[\\/]data_collator\.py:(?:torch_default_data_collator|default_data_collator|tf_default\w+)$",
    ),
    Signature(
        r"^(?:TypeError: not a sequence|ValueError: too many dimensions '(?P<kind>\w{1,20})')",
        frame=r"[\\/]data_collator\.py:torch_default_data_collator$",
    ),
)


LOG_MESSAGE = Message(
    en=Words(
        "no tensor can be made of column `{column}`: its rows differ in length or are no numbers",
        "The collator padded the inputs, but `{column}` holds lists of different lengths, nested lists, text or "
        "None. For `labels` the tokenizing `map` made them without padding; for a text column the dataset still "
        "carries what the model does not take.",
        "For `labels` use a collator that pads them: `DataCollatorForSeq2Seq(tokenizer, padding=True)` (or "
        "`DataCollatorForLanguageModeling`, which makes them). Drop other columns with `dataset.map(..., "
        "remove_columns=dataset.column_names)` and leave `remove_unused_columns=True`; tokenize with "
        "`truncation=True`.",
    ),
    zh=Words(
        "列 `{column}` 无法转成张量:各行长度不同或不是数字",
        "collator 已填充输入,但 `{column}` 含有不同长度的列表、嵌套列表、文本或 None。若为 `labels`,是分词的 `map` 未做"
        "填充;若为文本列,则数据集仍带着模型不接受的内容。",
        "`labels` 请用会填充它的 collator:`DataCollatorForSeq2Seq(tokenizer, padding=True)`(或自行生成标签的 "
        "`DataCollatorForLanguageModeling`)。其他列用 `dataset.map(..., remove_columns=dataset.column_names)` 去掉,"
        "并保持 `remove_unused_columns=True`;分词时加 `truncation=True`。",
    ),
)

UNPADDED = Message(
    en=Words(
        "rows of different lengths met a collator that does not pad",
        "Without a collator of its own the Trainer takes the default one, which only stacks; tokenized rows are as "
        "long as their texts.",
        "Pass a collator that pads: `data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False)` (it makes "
        "the labels, too) or `DataCollatorForSeq2Seq(tokenizer)`; or hand the tokenizer over "
        "(`processing_class=tokenizer`, before 4.46 `tokenizer=`), by which the Trainer pads the inputs. Or "
        'tokenize with `padding="max_length", truncation=True`.',
    ),
    zh=Words(
        "长度不同的行遇到了不做填充的 collator",
        "没有指定 collator 时,Trainer 使用只做堆叠的默认 collator;分词后的行与其文本一样长。",
        "传入会填充的 collator:`data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False)`(也会生成标签)或"
        " `DataCollatorForSeq2Seq(tokenizer)`;或交出分词器(`processing_class=tokenizer`,4.46 之前为 "
        '`tokenizer=`),Trainer 会据此填充输入。也可在分词时使用 `padding="max_length", truncation=True`。',
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Name the column where the message, or its next line, does."""
    if hits.first.signature >= len(SIGNATURES) - 2:
        return found(PROBLEM, UNPADDED, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    column = hits.get("column") or hits.get("feature") or "labels"
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), column=column, confidence=LIKELY)

"""The columns that a `map` returned have different lengths.

## What it means
A batched `map` may return more or fewer rows than it got, if it returns all columns in the new length.
Columns that it does not return stay and keep the old number of rows.
## What it does to a run
The map raises ArrowInvalid at the first batch.
## What to do
Remove the old columns in the same call.
## How it is found
In a log: by Arrow's exception.
## References
https://huggingface.co/docs/datasets/about_map_batch
https://github.com/huggingface/datasets/issues/1817
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DAT026", name="mapped-columns-differ-in-length", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ArrowInvalid: Column (?P<number>\d{1,4}) named (?P<column>[\w\-]{1,80}) expected length "
        r"(?P<wanted>\d{1,9}) but got length (?P<got>\d{1,9})"
    ),
)


LOG_MESSAGE = Message(
    en=Words(
        "`map` returned {got} rows for column `{column}` where other columns have {wanted}",
        "In a batched map the function returned another number of rows than it got (chunks, "
        "pairs, filtered rows), and the old columns are still there.",
        "Add `remove_columns=dataset.column_names` to the `map` call, or return every column in "
        "the same length; for one row in, one row out use `batched=False`. `group_texts` needs "
        "`batched=True`.",
    ),
    zh=Words(
        "`map` 为列 `{column}` 返回了 {got} 行,而其他列有 {wanted} 行",
        "在 batched map 中,函数返回的行数与输入不同(切块、配对、过滤),而旧的列仍然保留。",
        "在 `map` 调用中加 `remove_columns=dataset.column_names`,或让所有列长度一致;"
        "一行进一行出时用 `batched=False`。`group_texts` 需要 `batched=True`。",
    ),
)

"""The columns that a `map` returned have different lengths.

## What it means
A batched `map` may return more or fewer rows than it got, if it returns all columns in the new length.
Columns that it does not return stay and keep the old number of rows.
## What it does to a run
The map raises ArrowInvalid at the first batch.
## What to do
Remove the old columns in the same call.
## How it is found
In a log: by Arrow's exception; frames of `map` tell it from a table that is made of lists of different lengths.
## References
https://huggingface.co/docs/datasets/about_map_batch
https://github.com/huggingface/datasets/issues/1817
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

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

OTHER = Message(
    en=Words(
        "column `{column}` has {got} rows and the columns beside it {wanted}: no table can be made",
        "A table has as many values in each column as rows. Lists of different lengths were given to "
        "`Dataset.from_dict` (or a table of Arrow): one list was filled in fewer turns of a loop than the others, or a "
        "filter took values out of one alone.",
        "Print the lengths: `{{name: len(values) for name, values in data.items()}}`, and append to every list in the "
        "same place (`None` for what is missing). In a batched `map` return all columns in the same length and drop "
        "the old ones (`remove_columns=dataset.column_names`).",
    ),
    zh=Words(
        "列 `{column}` 有 {got} 行,而其他列有 {wanted} 行:无法组成表",
        "表的每一列的值数都等于行数。传给 `Dataset.from_dict`(或 Arrow 表)的列表长度不同:某个列表在循环中少填了几次,或"
        "过滤"
        "只作用于其中一个。",
        "打印长度:`{{name: len(values) for name, values in data.items()}}`,并在同一处向每个列表追加(缺失的用 "
        "`None`)。在 batched `map` 中让所有列长度一致,并去掉旧列(`remove_columns=dataset.column_names`)。",
    ),
)
_MAPS = re.compile(r"[\\/](?:arrow_writer\.py:write_batch|arrow_dataset\.py:(?:_map_single|map|iter_outputs))$")


def explain(hits: Hits) -> Finding:
    """Only a `map` has old columns that can stay behind; other tables are made of columns as well."""
    frames = [frame for hit in hits for frame in hit.frames]
    mapped = any(_MAPS.search(frame) for frame in frames)
    first = hits.first.groups
    return found(
        PROBLEM,
        LOG_MESSAGE if mapped else OTHER,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if frames else LIKELY,
        column=first["column"],
        got=first["got"],
        wanted=first["wanted"],
    )

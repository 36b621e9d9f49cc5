"""The data files of a dataset do not have the same columns.

## What it means
Files that are loaded as one split must have the same columns with the same types; one file, or one row of
JSON lines, has more or fewer.
## What it does to a run
`load_dataset` raises DatasetGenerationCastError after it has read part of the files.
## What to do
Load files of different kinds as separate splits or configurations (`data_files={...}`), or bring them to
the same columns.
## How it is found
In a log: by the line that lists the new and the missing columns.
## References
https://huggingface.co/docs/hub/datasets-manual-configuration
https://github.com/huggingface/datasets/blob/4.0.0/src/datasets/exceptions.py
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT014", name="columns-differ", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"All the data files must have the same columns, but at some point there are"
        r" (?P<difference>[^\n]{1,240})",
    ),
    Signature(
        r"^(?:pyarrow\.lib\.)?ArrowInvalid: Schema at index \d{1,6} was different:",
        frame=r"[\\/]datasets[\\/](?:builder|arrow_writer|table)\.py:",
    ),
    # datasets before 2.17 has no other words for it
    Signature(r"^because column names don't match"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the data files of the dataset have different columns",
        "One file has {difference} than the first one, so they cannot become one table.",
        'Load files of different kinds separately, with `data_files={{"train": "a*.jsonl"}}` or a configuration of '
        "their own in the README, or give every row the same fields.",
    ),
    zh=Words(
        "数据集各数据文件的列不一致",
        "其中一个文件与第一个相比:{difference},因此无法合成一张表。",
        '分别加载不同类型的文件,用 `data_files={{"train": "a*.jsonl"}}` 或在 README 中为其单独配置,或使每一行的字段'
        "相同。",
    ),
)

ROWS = Message(
    en=Words(
        "the data files of the dataset have different columns",
        "They are read into one table, and the schema of a later file or block is another one: a column more, less "
        "or under another name. The lines below the exception show both.",
        'Load files of different kinds separately (`data_files={{"train": "a*.csv"}}`), or give every file the same '
        "header: rename and drop columns beforehand, for instance with pandas.",
    ),
    zh=Words(
        "数据集各数据文件的列不一致",
        "它们要读成一张表,而后面的文件或数据块的结构不同:多一列、少一列或列名不同。异常下面的几行列出了二者。",
        '分别加载不同类型的文件(`data_files={{"train": "a*.csv"}}`),或使每个文件的表头相同:事先重命名或去掉列,例如用'
        " pandas。",
    ),
)

CAST = Message(
    en=Words(
        "rows have other columns than the features that they are to be cast to",
        "`datasets` brings what it read, or what `map` returned, to given features: those of `features=`, of the "
        "dataset's card, of its cache, or of the part before. The lines of the exception show both lists.",
        "Compare the two lists. Leave `features=` out or write all columns into it; drop the others "
        "(`remove_columns=dataset.column_names` in `map`, `select_columns`); bring parts to the same columns before "
        '`concatenate_datasets`; read a cached one anew with `download_mode="force_redownload"`.',
    ),
    zh=Words(
        "数据行的列与要转换成的 features 不一致",
        "`datasets` 把读到的内容或 `map` 的返回值转换为给定的 features:来自 `features=`、数据集说明卡、缓存,或之前的部"
        "分。"
        "异常中的几行列出了二者。",
        "比较两个列表。去掉 `features=`,或在其中写出所有列;去掉多余的列(`map` 中 `remove_columns=dataset.column_names`,"
        "`select_columns`);`concatenate_datasets` 之前使各部分的列相同;缓存的数据用 "
        '`download_mode="force_redownload"` 重新读取。',
    ),
)
_CAST = 2  # position of the pattern


def explain(hits: Hits) -> Finding | None:
    """Count the columns; their names are in the quotation. Outside of a builder other things are cast as well."""
    reads = any("_prepare_split" in frame for hit in hits for frame in hit.frames)
    if hits.first.signature == _CAST and not reads:
        return found(PROBLEM, CAST, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    if hits.first.signature:
        return found(PROBLEM, ROWS, where=hits.where(), evidence=hits.evidence())
    counts = _COUNTS.findall(hits.get("difference") or "")
    difference = " and ".join(f"{number} {kind} columns" for number, kind in counts) or "other columns"
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), difference=difference)


_COUNTS = re.compile(r"(\d{1,5}) (new|missing) columns")

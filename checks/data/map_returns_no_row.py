"""A function given to `dataset.map` returns something that is no row.

## What it means
`map` wants a dict of columns (or nothing, to keep the row). A string, a list or a number has no column name.
## What it does to a run
TypeError at the first row.
## What to do
Return a dict: `{"prompt": text}`.
## How it is found
In a log: by the words of datasets.
## References
https://huggingface.co/docs/datasets/process#map
https://github.com/huggingface/datasets/blob/4.4.0/src/datasets/arrow_dataset.py
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="DAT054", name="map-returns-no-row", severity=ERROR, since="0.1")

#: (pattern, frame of its traceback, what is said of it)
CASES = (
    (
        (
            r"^TypeError: Provided `function` which is applied to all elements of table returns a vari"
            r"able of type <class '(?P<kind>[\w.]{1,80})'>"
        ),
        "",
        Message(
            en=Words(
                "the function given to `map` returns a `{kind}`, not a row",
                "A row is a dict of columns; what is returned has no column name.",
                'Return `{{"COLUMN": value}}`, for instance `dataset.map(lambda row: {{"prompt": '
                'row["question"]}})`; with `batched=True` every value is a list.',
            ),
            zh=Words(
                "传给 `map` 的函数返回 `{kind}`,不是一行数据",
                "一行是由列组成的字典;返回值没有列名。",
                '返回 `{{"列名": 值}}`,例如 `dataset.map(lambda row: {{"prompt": row["question"]}})`;`batched=True` '
                "时每个值都是列表。",
            ),
        ),
    ),
    (
        (
            r"^TypeError: Provided `function` which is applied to all elements of table returns a `dic"
            r"t` of types (?P<kinds>[^\n]{1,160}?)\. When using `batched=True`"
        ),
        "",
        Message(
            en=Words(
                "with `batched=True` the function given to `map` returns single values",
                "It gets a batch, so each column it returns must be a list with one entry for every row.",
                'Return lists: `{{"prompt": [make(q) for q in rows["question"]]}}`, or leave `batched=True` out.',
            ),
            zh=Words(
                "在 `batched=True` 下,传给 `map` 的函数返回了单个值",
                "它处理的是一批,因此返回的每一列都必须是列表,每行一项。",
                '返回列表:`{{"prompt": [make(q) for q in rows["question"]]}}`,或去掉 `batched=True`。',
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern, frame=frame) for pattern, frame, _ in CASES)


def explain(hits: Hits) -> Finding:
    """What the first hit's own case says."""
    return finding_of_case(PROBLEM, [(pattern, message) for pattern, _, message in CASES], hits)

"""The code names a column that the dataset does not have.

## What it means
`remove_columns`, `rename_column`, `select_columns` or an index names a column of another dataset, of another split, or
one that an earlier `map` has removed already.
## What it does to a run
ValueError or KeyError while the data is prepared, on every rank.
## What to do
Name a column that is there, or ask `dataset.column_names`.
## How it is found
In a log: by the exceptions of the datasets library, which list the columns that are there.
## References
https://github.com/huggingface/datasets/blob/5.2.0/src/datasets/arrow_dataset.py
https://github.com/bigscience-workshop/t-zero/issues/37
https://huggingface.co/docs/datasets/process#rename-remove-cast-and-flatten
"""

from __future__ import annotations

from difflib import get_close_matches

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT037", name="column-not-in-dataset", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:ValueError|KeyError): [\"']?(?:Column(?: name| to remove)?s?|Original column name|Key column)"
        r" (?P<wanted>[\[\w][^\n]{0,200}?)"
        r" not in the dataset\. (?:Current columns|Columns) in the dataset: (?P<there>\[[^\]\n]{0,600}\])"
    ),
    Signature(
        r"ValueError: Error when (?:renaming|removing) (?P<wanted>\[[^\]\n]{1,200}\]|\S{1,80})"
        r"(?: to (?:\[[^\]\n]{1,200}\]|\S{1,80}))?: columns? "
    ),
    Signature(r"ValueError: Column '(?P<wanted>[^'\n]{1,80})' doesn't exist"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the dataset has no column {wanted}",
        "The code that prepares the data names it. {there}",
        "Write a name that is there{near}, or take them from the dataset: "
        "`remove_columns=dataset.column_names`. A column that an earlier `map` dropped has to be kept there.",
    ),
    zh=Words(
        "数据集中没有列 {wanted}",
        "处理数据的代码用到了它。{there_zh}",
        "改用已有的列名{near_zh},或直接取自数据集:`remove_columns=dataset.column_names`。若该列被之前的 `map` 删除,"
        "需在那里保留。",
    ),
)


def _names(text: str) -> list[str]:
    return [each.strip(" '\"[]") for each in text.strip("[]").split(",") if each.strip(" '\"[]")]


def explain(hits: Hits) -> Finding | None:
    """List what is there, and the likeliest of it."""
    wanted, there = _names(hits.get("wanted") or ""), _names(hits.get("there") or "")
    near = [each for name in wanted for each in get_close_matches(name, there, 1, 0.5)]
    shown = ", ".join(f"`{each}`" for each in there[:12])
    likely = ", ".join(f"`{each}`" for each in near)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        wanted=", ".join(f"`{each}`" for each in wanted[:4]),
        there=f"It has {shown}." if there else "Its columns: `dataset.column_names`.",
        there_zh=f"已有的列:{shown}。" if there else "查看已有的列:`dataset.column_names`。",
        near=f" ({likely}?)" if near else "", near_zh=f"({likely}?)" if near else "",
    )  # fmt: skip

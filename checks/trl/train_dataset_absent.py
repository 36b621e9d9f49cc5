"""The trainer gets no training dataset, or something that is none.

## What it means
`load_dataset` without `split` returns a DatasetDict of all splits; a list of dicts, or nothing, is no
dataset either.
## What it does to a run
The trainer raises when it is built, or when training starts.
## What to do
Pass one split as `train_dataset`.
## How it is found
In a log: by TRL's or the Trainer's own exception.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
https://huggingface.co/docs/datasets/loading
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRL039", name="train-dataset-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: `train_dataset` is required"),
    Signature(r"ValueError: Trainer: training requires a train_dataset"),
    Signature(
        r"TypeError: `train_dataset` must be a `Dataset` or `IterableDataset`, got `(?P<kind>\w{1,40})`",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the trainer got no usable `train_dataset` ({kind})",
        "It needs one `datasets.Dataset`; `load_dataset(NAME)` without `split` gives a dictionary of all splits.",
        'Pass `train_dataset=load_dataset(NAME, split="train")` (or `dataset["train"]`); for rows of '
        "your own `Dataset.from_list(rows)`.",
    ),
    zh=Words(
        "训练器没有得到可用的 `train_dataset`({kind})",
        "它需要一个 `datasets.Dataset`;不带 `split` 的 `load_dataset(NAME)` 返回包含所有划分的字典。",
        '传入 `train_dataset=load_dataset(NAME, split="train")`(或 `dataset["train"]`);自有数据用 '
        "`Dataset.from_list(rows)`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Say what it was instead, where the exception does."""
    kind = hits.get("kind") or "None"
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), kind=kind)

"""The dataset has no `prompt` column.

## What it means
GRPO reads the prompts from the column `prompt`, as text or as a list of messages.
## What it does to a run
The trainer raises `KeyError: 'prompt'` when it takes the first batch, after the model was loaded and, with
vLLM, after the engine was started.
## What to do
Rename the column, or make `prompt` with `dataset.map`.
## How it is found
The first rows of the local dataset file, where nothing between file and trainer changes its columns.
In a log: by the trainer's KeyError.
## References
https://huggingface.co/docs/trl/dataset_formats
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
"""

from __future__ import annotations

import re

from doctor.checks.trl._helpers import is_grpo, listing
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Finding, Message, Skip, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.dataset import Dataset
from doctor.facts.training import Training

PROBLEM = Problem(id="DAT005", name="prompt-column-missing", severity=ERROR, since="0.1", affects={"trl": ">=0.14"})

SIGNATURES = (Signature(r"^KeyError: 'prompt'$", frame=r"(?i)grpo\w*trainer\.py:|trl[\\/]trainer[\\/]\w+\.py:"),)

LOG_MESSAGE = Message(
    en=Words(
        "the dataset has no column `prompt`",
        "The trainer takes the prompts from a column of exactly that name (GRPO at the first batch, after "
        "everything was loaded; DPO wants `chosen` and `rejected` beside it).",
        'Rename the column that holds the prompts: `dataset = dataset.rename_column("question", '
        '"prompt")`, or make it with `dataset.map(...)`; and keep it if `remove_columns` takes it away.',
    ),
    zh=Words(
        "数据集没有 `prompt` 列",
        "训练器从恰好名为此的列取得 prompt(GRPO 在一切加载完成后的第一个批次才会发现;DPO 还需要 `chosen` 和 "
        "`rejected`)。",
        '重命名存放 prompt 的列:`dataset = dataset.rename_column("question", "prompt")`,或用 '
        "`dataset.map(...)` 生成;如果 `remove_columns` 把它删掉了,则保留它。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`{path}` has no column `prompt`; it has {columns}",
        "GRPO takes the prompts from that column and raises `KeyError: 'prompt'` at the first batch, after "
        "everything was loaded.",
        "Rename the column that holds the prompts.",
    ),
    zh=Words(
        "`{path}` 没有 `prompt` 列,现有列为 {columns}",
        "GRPO 从该列读取 prompt,会在一切加载完成后的第一个批次抛出 `KeyError: 'prompt'`。",
        "重命名存放 prompt 的列。",
    ),
)

#: names under which datasets keep what GRPO calls `prompt`
LIKE_PROMPT = ("prompts", "question", "problem", "instruction", "query", "input", "messages", "text")


@check(PROBLEM)
def prompt_column_missing(training: Training, dataset: Dataset) -> Judgement:
    """Judge the columns of the first row, where they reach the trainer as they are."""
    if not is_grpo(training) or not dataset.columns or "prompt" in dataset.columns:
        return
    if "environment_factory" in training.trainer_arguments:
        return  # the environment brings the prompts
    if training.dataset_processed:
        yield Skip("what the script makes of the dataset's columns is not seen")
        return
    alike = next((each for each in LIKE_PROMPT if each in dataset.columns), None)
    rename = f'dataset = dataset.rename_column("{alike}", "prompt")'
    yield found(
        PROBLEM,
        MESSAGE,
        where=Where(file=dataset.path),
        evidence=(Evidence(dataset.path, f"columns: {', '.join(dataset.columns)}"),),
        commands=(rename,) if alike else (),
        path=dataset.path.rpartition("/")[2],
        columns=listing(dataset.columns[:6]),
    )


def explain(hits: Hits) -> Finding | None:
    """Leave out reward functions that look for a prompt among their keywords: their own frame is the innermost."""
    if not any(hit.frames and _TRAINER.search(hit.frames[-1]) for hit in hits):
        return None
    commands = ('dataset = dataset.rename_column("question", "prompt")',)
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), commands=commands)


_TRAINER = re.compile(r"(?i)grpo\w*trainer\.py:|trl/data_utils\.py:|trl[\\/]trainer[\\/]\w+\.py:")

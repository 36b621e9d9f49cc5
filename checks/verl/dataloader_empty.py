"""The data set of veRL gives not one batch.

## What it means
The training loader drops the last incomplete batch, so a data set smaller than `data.train_batch_size` gives
none; the overlong filter may have removed all rows before.
## What it does to a run
The command ends before the first step.
## What to do
A smaller batch, more data, or a longer prompt limit.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/verl-project/verl/blob/main/verl/trainer/ppo/ray_trainer.py
https://verl.readthedocs.io/en/latest/preparation/prepare_data.html
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VRL018", name="verl-dataloader-empty", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?P<which>Train|Validation) dataloader is empty!",
    ),
    Signature(
        r"filter dataset len: (?P<left>\d{1,9})\b",
        kind="sign",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the {which} data gives not one batch{left}",
        "The training loader drops an incomplete last batch: a file with fewer rows than "
        "`data.train_batch_size` gives none. Rows are also lost when `data.filter_overlong_prompts` "
        "removes prompts longer than `data.max_prompt_length`, or when the path holds another or an "
        "empty file.",
        "Lower `data.train_batch_size` (and `data.val_batch_size`) below the number of rows, raise "
        '`data.max_prompt_length`, and check the file: `python -c "import pandas; '
        "print(len(pandas.read_parquet('FILE')))\"`.",
    ),
    zh=Words(
        "{which_zh}数据连一个批次都不够{left_zh}",
        "训练加载器会丢弃不完整的最后一批:文件行数少于 `data.train_batch_size` 时一批也没有。"
        "`data.filter_overlong_prompts` 会去掉超过 `data.max_prompt_length` 的 prompt,路径指向其他文件或"
        "空文件时也会如此。",
        "把 `data.train_batch_size`(与 `data.val_batch_size`)降到行数以下,提高 `data.max_prompt_length`,"
        "并检查文件:`python -c \"import pandas; print(len(pandas.read_parquet('文件')))\"`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Which loader, and how many rows the filter left."""
    training = hits.get("which") == "Train"
    left = hits.get("left")
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        which="training" if training else "validation",
        which_zh="训练" if training else "验证",
        left=f": {left} rows are left after the filter" if left else "",
        left_zh=f":过滤后剩 {left} 行" if left else "",
    )

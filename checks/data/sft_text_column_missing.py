"""SFTTrainer does not find the text in the dataset.

## What it means
It takes conversations from a column `messages`, pairs from `prompt` and `completion`, or plain text from the column
that `dataset_text_field` names ("text"). Releases before 0.10 had no default and wanted the name.
## What it does to a run
ValueError or KeyError when the trainer is made.
## What to do
Name the column, or give the dataset one of the forms.
## How it is found
In a log: by TRL's words, or by the key inside TRL's tokenizing.
## References
https://huggingface.co/docs/trl/dataset_formats
https://github.com/huggingface/trl/blob/v0.9.6/trl/trainer/sft_trainer.py
https://github.com/huggingface/open-r1/issues/454
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT041", name="sft-text-column-missing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: You passed `packing=False` to the SFTTrainer(?:/SFTConfig)?, but you didn't pass a "
        r"`dataset_text_field`"
    ),
    Signature(r"ValueError: You need to (?:pass a|provide either) `dataset_text_field` or `formatting_func` argument"),
    Signature(
        r"^KeyError: '(?P<column>text|messages|completion|conversations|prompt)'$",
        frame=r"trl[\\/]trainer[\\/]sft_trainer\.py:(?:_?tokenize\w{0,20}|_prepare\w{0,40})",
    ),
    Signature(
        r"^KeyError: '(?P<column>[\w\-]{1,60})'$", frame=r"trl[\\/]trainer[\\/](?:sft_trainer|utils)\.py:<lambda>$"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "SFTTrainer does not find the text to train on in the dataset{column}",
        "It reads a conversation from `messages`, a pair from `prompt` and `completion`, or plain text "
        'from the column that `dataset_text_field` names ("text" by default); the dataset has none of them '
        "under these names.",
        'See `print(dataset.column_names)`, then name the column: `SFTConfig(dataset_text_field="COLUMN")` '
        '(TRL before 0.9: `SFTTrainer(..., dataset_text_field="COLUMN")`), rename it '
        '(`dataset.rename_column("conversations", "messages")`), or pass `formatting_func=lambda row: ...` '
        "that returns the text. A project pinned to an older TRL wants that one: `pip install "
        '"trl==VERSION"`; newer ones take a column `messages` without more.',
    ),
    zh=Words(
        "SFTTrainer 在数据集中找不到用于训练的文本{column_zh}",
        "它从 `messages` 读取对话,从 `prompt` 和 `completion` 读取成对数据,或从 `dataset_text_field` 指定的"
        '列(默认 "text")读取纯文本;数据集中没有这些名称的列。',
        '查看 `print(dataset.column_names)`,然后指定列:`SFTConfig(dataset_text_field="COLUMN")`(TRL 0.9 之'
        '前为 `SFTTrainer(..., dataset_text_field="COLUMN")`)、重命名'
        '(`dataset.rename_column("conversations", "messages")`),或传入返回文本的 `formatting_func=lambda '
        'row: ...`。固定旧版 TRL 的项目应安装该版本:`pip install "trl==VERSION"`;较新版本直接接受'
        " `messages` 列。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Name the column that was asked for, where one was."""
    column = hits.get("column")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        column=f": no column `{column}`" if column else "", column_zh=f":没有 `{column}` 列" if column else "",
    )  # fmt: skip

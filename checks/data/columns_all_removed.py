"""Nothing is left of the dataset when its rows are fetched.

## What it means
The Trainer drops every column that the model's `forward` does not name. Where it names none of them (a PEFT or DDP
wrapper with `**kwargs`, a dataset that was not tokenized) a table without columns remains, whose length is 0, while the
sampler still counts the rows.
## What it does to a run
The first batch raises IndexError.
## What to do
Tokenize the dataset, or keep its columns.
## How it is found
In a log: by the size 0 in the words of `datasets`.
## References
https://github.com/huggingface/datasets/blob/4.0.0/src/datasets/formatting/formatting.py
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments.remove_unused_columns
https://github.com/hiyouga/LlamaFactory/issues/671
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DAT035", name="columns-all-removed", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"IndexError: Invalid key: (?P<row>\d{1,12}) is out of bounds for size 0"),)

LOG_MESSAGE = Message(
    en=Words(
        "the dataset has no columns left: row {row} was asked of a table of size 0",
        "The Trainer removed every column, because the model's `forward` names none of them: the dataset "
        "was not tokenized into `input_ids`, its columns belong to another kind of trainer (DPO pairs, raw "
        "text), or a wrapper hides the names of `forward`.",
        "Set `remove_unused_columns=False` in the training arguments (LLaMA-Factory: "
        "`remove_unused_columns: false`) where the collator or trainer makes the inputs, or tokenize "
        "first, so that `print(dataset.column_names)` shows `input_ids`. With TRL use the trainer and "
        "configuration of the task, which do so themselves.",
    ),
    zh=Words(
        "数据集的列全部被删除:从大小为 0 的表中请求第 {row} 行",
        "Trainer 删除了所有列,因为模型的 `forward` 没有列出其中任何一个:数据集尚未分词为 `input_ids`,其列属"
        "于另一种训练器(DPO 样本对、原始文本),或包装器隐藏了 `forward` 的参数名。",
        "若由 collator 或训练器生成输入,在训练参数中设"
        " `remove_unused_columns=False`(LLaMA-Factory:`remove_unused_columns: false`);否则先分词,使"
        " `print(dataset.column_names)` 中有 `input_ids`。使用 TRL 时采用该任务的训练器和配置,它们会自行处"
        "理。",
    ),
)

LOG_CONFIDENCE = LIKELY

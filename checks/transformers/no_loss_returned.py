"""The model returned no loss, because the batch has no labels.

## What it means
Models compute a loss only where `labels` is in the batch. A collator without labels, a base model without a
head, or columns that were removed leave it out.
## What it does to a run
The first training step raises ValueError.
## What to do
Give labels through the collator, or use the AutoModel class for the task.
## How it is found
In a log: by the exception of the Trainer.
## References
https://huggingface.co/docs/transformers/main_classes/data_collator
https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/trainer.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF021", name="no-loss-returned", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: The model did not return a loss from the inputs, only the following keys:"
        r" (?P<keys>[\w,. ]{1,200})",
    ),
    Signature(
        r"ValueError: (?:The batch received was empty, your model won't be able to train on it|No"
        r" columns in the dataset match the model's forward method signature)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the model returned no loss: the batches hold no `labels`",
        "The Trainer removes columns that `forward` does not name and relies on the collator for labels; "
        "neither left a column `labels`.",
        "Use `DataCollatorForLanguageModeling(tokenizer, mlm=False)` (or TRL's SFTTrainer, which makes "
        "labels), check that the dataset is tokenized into `input_ids`, set "
        "`remove_unused_columns=False` if your collator needs raw columns, and load the model with "
        "`AutoModelForCausalLM`.",
    ),
    zh=Words(
        "模型没有返回损失:批次中没有 `labels`",
        "Trainer 会删除 `forward` 未列出的列,并依靠 collator 提供标签;两者都没有留下 `labels` 列。",
        "使用 `DataCollatorForLanguageModeling(tokenizer, mlm=False)`(或会生成标签的 TRL SFTTrainer),确认"
        "数据集已分词为 `input_ids`;若 collator 需要原始列,设置 `remove_unused_columns=False`;并用 "
        "`AutoModelForCausalLM` 加载模型。",
    ),
)

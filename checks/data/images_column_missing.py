"""TRL's collator for vision models finds no images in a row.

## What it means
Where the processing class is a processor, or the dataset's first row has images, TRL's SFT and DPO trainers use a
collator that reads `images` of every row. Rows of text alone, or a column under another name, do not have it.
## What it does to a run
KeyError at the first batch.
## What to do
Give every row `images`, or the tokenizer in place of the processor for text.
## How it is found
In a log: by the KeyError in TRL's collator.
## References
https://github.com/huggingface/trl/blob/v0.24.0/trl/trainer/sft_trainer.py
https://github.com/huggingface/trl/issues/3901
https://github.com/huggingface/trl/issues/3957
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DAT065", name="images-column-missing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^KeyError: '(?P<column>images?)'$",
        frame=r"(?:trl[\\/](?:trainer|experimental)[\\/]\S{1,60}|Unsloth\w{1,40}Trainer)\.py:(?:torch_call|"
        r"_collate_\w{1,40})$",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "TRL's collator for vision models reads `{column}` of every row, and a row has none",
        "It is chosen where a processor is handed over or the first row holds images. Rows of text alone, a column "
        "under another name (`image_path`, `pictures`), or one that `map` or `remove_unused_columns` took away do not "
        "fit.",
        "See `print(dataset.column_names)`; name the column `images` (a list for each row): `dataset.rename_column("
        '"YOURS", "images")`, and drop rows without one. To train on text alone pass the tokenizer: '
        "`processing_class=processor.tokenizer`. TRL of August 2025 (0.21) failed so with rows of text in Gemma 3's "
        "example: `pip install -U trl`.",
    ),
    zh=Words(
        "TRL 的视觉模型 collator 读取每一行的 `{column}`,而某一行没有",
        "当传入的是 processor 或第一行含有图像时会选用它。纯文本的行、其他名称的列(`image_path`、`pictures`),或被 "
        "`map`、`remove_unused_columns` 去掉的列都不符合。",
        '查看 `print(dataset.column_names)`;把列命名为 `images`(每行一个列表):`dataset.rename_column("YOURS", '
        '"images")`,并丢弃没有图像的行。只用文本训练时传入分词器:`processing_class=processor.tokenizer`。2025 年 8 月'
        "的 TRL(0.21)在 Gemma 3 示例的纯文本行上会这样失败:`pip install -U trl`。",
    ),
)

LOG_CONFIDENCE = LIKELY

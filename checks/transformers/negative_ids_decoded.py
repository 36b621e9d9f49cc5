"""Labels with -100 were decoded into text.

## What it means
The collator fills labels with -100 where no loss is taken. A fast tokenizer cannot decode negative ids.
## What it does to a run
Evaluation (`compute_metrics`, a callback that prints samples) raises OverflowError, after a whole evaluation
pass.
## What to do
Replace -100 by the padding token before decoding.
## How it is found
In a log: by the exception inside the tokenizer's decode.
## References
https://huggingface.co/docs/transformers/tasks/summarization#evaluate
https://github.com/artidoro/qlora/issues/53
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF032", name="negative-ids-decoded", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^OverflowError: (?:out of range integral type conversion attempted|can't convert negative int to unsigned)",
        frame=r":_?(?:batch_)?decode$",
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "token ids below zero were decoded into text",
        "Labels (or padded predictions) hold -100 where no loss is taken, and a tokenizer cannot turn that into text.",
        "Before decoding put the padding token in their place: `labels = np.where(labels != -100,"
        " labels, tokenizer.pad_token_id)`, for predictions and labels alike; predictions that "
        "are logits need `argmax` first.",
    ),
    zh=Words(
        "把小于零的 token id 解码为文本",
        "标签(或填充后的预测)中不计损失的位置为 -100,分词器无法将其转成文本。",
        "解码前用填充 token 替换:`labels = np.where(labels != -100, labels, "
        "tokenizer.pad_token_id)`,预测和标签都要处理;若预测是 logits,先取 `argmax`。",
    ),
)

"""The collator that trains on answers only does not find where the answer begins.

## What it means
`DataCollatorForCompletionOnlyLM` of TRL (until 0.19) looks for the token ids of `response_template` in every row.
Many tokenizers give the same text other ids inside a sentence than alone, and a row that was cut has no answer
left.
## What it does to a run
TRL before 0.7 stops with RuntimeError; later ones warn and leave the row out of the loss, which becomes 0 or NaN when
that is so for all.
## What to do
Give the ids as they stand in the text, or let newer TRL mask prompts by itself.
## How it is found
In a log: by the exception or warning of the collator.
## References
https://github.com/huggingface/trl/issues/588
https://github.com/huggingface/trl/issues/1920
https://github.com/huggingface/trl/blob/v0.19.1/trl/trainer/utils.py
https://huggingface.co/docs/trl/sft_trainer
https://github.com/unslothai/unsloth/issues/1290
https://github.com/unslothai/unsloth/issues/11321
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT055", name="response-template-not-found", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"^RuntimeError: Could not find (?P<what>response|instruction) key \[?\d"),
    Signature(
        r"UserWarning: Could not find (?P<what>response|instruction) key `?.{1,200}? in the following instance: ",
        kind="warning",
    ),
    Signature(r"^ValueError: Unsloth: train_on_responses_only masked every label to -100 in (?P<dataset>\w{1,40})"),
    Signature(
        r"^Unsloth: (?:Most|All) labels in your dataset are -100\. Training losses will be all 0", kind="warning"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the {what} template of the collator is not found in the rows",
        "TRL compares token ids, not text: the template alone is often tokenized otherwise than after a newline or a "
        "word (Llama's leading space), ends in a space, or stood in a part that was cut off at the maximal length. "
        "Such "
        "rows count nothing in the loss.",
        "Pass the ids as they stand in context, without the first ones: `response_template_ids = "
        'tokenizer.encode("\\n### Answer:", add_special_tokens=False)[2:]`, no space at its end, and raise the maximal '
        "length. Simpler with TRL 0.20 and newer, which has no such collator: a dataset with `prompt` and `completion` "
        "(`completion_only_loss`), or conversations with `assistant_only_loss=True`.",
    ),
    zh=Words(
        "在数据行中找不到 collator 的 {what} 模板",
        "TRL 比较的是 token id 而非文本:单独的模板与换行或单词之后的模板常被切分成不同的 token(Llama 的前导空格)、模板"
        "以空格"
        "结尾,或所在部分因超过最大长度被截断。这些行不计入损失。",
        "传入上下文中的 id,去掉开头几个:`response_template_ids = "
        'tokenizer.encode("\\n### Answer:", add_special_tokens=False)[2:]`,末尾不要空格,并增大最大长度。TRL 0.20 及以'
        "上已"
        "没有该 collator,更简单:使用含 `prompt` 与 `completion` 的数据集(`completion_only_loss`),或对话数据加 "
        "`assistant_only_loss=True`。",
    ),
)


#: the same done by Unsloth on token ids of the whole dataset
UNSLOTH = Message(
    en=Words(
        "Unsloth's `train_on_responses_only` leaves no label: its markers are not in the rows",
        "`instruction_part` and `response_part` are searched as tokens in the rows as the chat template wrote them. "
        "Those of another model, a space or line end too many, rows without an answer, or a maximal length that cuts "
        "the answer off leave every label at -100, and the loss is 0.",
        "See how a row is written: `print(tokenizer.decode(trainer.train_dataset[0]['input_ids']))`, and copy both "
        "markers from it with their line ends (Llama 3: `<|start_header_id|>assistant<|end_header_id|>\\n\\n`, "
        "ChatML: `<|im_start|>assistant\\n`, Gemma 3: `<start_of_turn>model\\n`). Raise `max_seq_length`; then "
        "`pip install -U --no-deps unsloth unsloth_zoo`, which mended markers of one token.",
    ),
    zh=Words(
        "Unsloth 的 `train_on_responses_only` 没有留下任何标签:数据行中没有其标记",
        "`instruction_part` 与 `response_part` 会以 token 形式在聊天模板写出的数据行中查找。用了其他模型的标记、多一个"
        "空格或换行、没有回答的行,或最大长度截断了回答,都会使所有标签为 -100,损失为 0。",
        "查看一行的实际内容:`print(tokenizer.decode(trainer.train_dataset[0]['input_ids']))`,从中连同换行复制两个标记"
        "(Llama 3:`<|start_header_id|>assistant<|end_header_id|>\\n\\n`,ChatML:`<|im_start|>assistant\\n`,Gemma "
        "3:`<start_of_turn>model\\n`)。增大 `max_seq_length`;再 `pip install -U --no-deps unsloth unsloth_zoo`,它修复"
        "了单 token 标记的问题。",
    ),
)

MESSAGES = (LOG_MESSAGE, UNSLOTH)


def explain(hits: Hits) -> Finding:
    """An exception ends the run; a warning leaves the row out."""
    stopped = hits.of(0) or hits.of(2)
    if hits.of(2) or hits.of(3):
        return found(
            PROBLEM, UNSLOTH, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            severity=ERROR if stopped else WARNING,
        )  # fmt: skip
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        severity=ERROR if stopped else WARNING, what=hits.get("what"),
    )  # fmt: skip

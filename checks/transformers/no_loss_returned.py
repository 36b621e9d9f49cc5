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

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF021", name="no-loss-returned", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: The model did not return a loss from the inputs, only the following keys:"
        r" (?P<keys>[\w, ]{1,200})(?:\. For reference, the inputs it received are (?P<inputs>[\w, ]{1,200}))?",
    ),
    Signature(
        r"ValueError: (?:The batch received was empty, your model won't be able to train on it|No"
        r" columns in the dataset match the model's forward method signature)",
    ),
    Signature(
        r"^KeyError: '(?:eval_)?loss'$",
        # the second: a `compute_loss` of the user's asks the model's output
        frame=r"transformers[\\/](?:trainer(?:_seq2seq)?\.py:(?:compute_loss|prediction_step|training_step)|"
        r"(?:file_utils|utils[\\/]generic)\.py:__getitem__)$",
        symptom_of=("TRF", "TRL"),
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

LABELS_GIVEN = Message(
    en=Words(
        "the model returned no loss although the batch held `labels`",
        "Its `forward` takes labels and gives back {keys} only: a reward or sequence model that computes no loss for "
        "this kind of batch, evaluation of a model that computes one in training only, or labels of another form than "
        "it expects.",
        "Look at `forward`: it must return a `loss` (or a tuple that begins with it) when labels are given; a model of "
        "your own computes it there, or give the Trainer `compute_loss_func=`/override `compute_loss`. In evaluation "
        'set `prediction_loss_only=False` and `eval_strategy="no"` where the model has no loss then. Load the class of '
        "the task (`AutoModelForCausalLM`, `AutoModelForSequenceClassification`), and for pairs use TRL's "
        "RewardTrainer.",
    ),
    zh=Words(
        "批次中有 `labels`,但模型没有返回损失",
        "其 `forward` 接受标签却只返回 {keys}:奖励或序列模型不对这种批次计算损失、模型只在训练时计算损失而此处在评估"
        ",或标签形式与其预期不同。",
        "查看 `forward`:给出标签时必须返回 `loss`(或以其开头的元组);自己的模型在其中计算,或给 Trainer 传 "
        "`compute_loss_func=`、重写 `compute_loss`。若模型在评估时没有损失,设 `prediction_loss_only=False` 和 "
        '`eval_strategy="no"`。加载与任务相符的类(`AutoModelForCausalLM`、`AutoModelForSequenceClassification`),样本对'
        "使用 TRL 的 RewardTrainer。",
    ),
)

NO_HEAD = Message(
    en=Words(
        "the Trainer looks for `loss` in what the model returned, and there is none",
        "Either the batch holds no `labels`, or the model's class has no head that computes a loss: a base class "
        "(`BartModel`, `AutoModel`) returns hidden states only.",
        "Load the class of the task (`AutoModelForSeq2SeqLM`, `AutoModelForCausalLM`, "
        "`AutoModelForSequenceClassification`), and see that each batch has `labels`: tokenize them "
        "(`tokenizer(text_target=...)`), or use a collator that makes them (`DataCollatorForSeq2Seq`, "
        "`DataCollatorForLanguageModeling(tokenizer, mlm=False)`).",
    ),
    zh=Words(
        "Trainer 在模型的返回值中查找 `loss`,而其中没有",
        "要么批次中没有 `labels`,要么模型类没有计算损失的头:基础类(`BartModel`、`AutoModel`)只返回隐藏状态。",
        "加载与任务相符的类(`AutoModelForSeq2SeqLM`、`AutoModelForCausalLM`、`AutoModelForSequenceClassification`),并确"
        "认每个批次都有 `labels`:对其分词(`tokenizer(text_target=...)`),或使用会生成标签的 "
        "collator(`DataCollatorForSeq2Seq`、`DataCollatorForLanguageModeling(tokenizer, mlm=False)`)。",
    ),
)

NO_COLUMN = Message(
    en=Words(
        "the Trainer dropped every column of the dataset: none has a name that `forward` takes",
        "`remove_unused_columns` (on by default) keeps what the model's `forward` names. A dataset that is not "
        "tokenized yet has `text` or `messages` instead of `input_ids`, and a PEFT or wrapped model hides its "
        "arguments behind `*args, **kwargs`.",
        "Tokenize first: `dataset.map(lambda r: tokenizer(r['text'], truncation=True), batched=True, "
        "remove_columns=dataset.column_names)`, or use TRL's trainer of the task, which does it. Where collator or "
        "model want the raw columns: `remove_unused_columns=False`; for a wrapped model also "
        '`label_names=["labels"]`.',
    ),
    zh=Words(
        "Trainer 丢弃了数据集的所有列:没有一列的名称是 `forward` 的参数",
        "`remove_unused_columns`(默认开启)只保留模型 `forward` 的参数名对应的列。尚未分词的数据集只有 `text` 或 "
        "`messages` 而没有 `input_ids`;PEFT 或其他包装的模型则把参数藏在 `*args, **kwargs` 之后。",
        "先分词:`dataset.map(lambda r: tokenizer(r['text'], truncation=True), batched=True, "
        "remove_columns=dataset.column_names)`,或使用会自行分词的 TRL 训练器。若 collator 或模型需要原始列:"
        '`remove_unused_columns=False`;包装的模型还需 `label_names=["labels"]`。',
    ),
)

MESSAGES = (LOG_MESSAGE, LABELS_GIVEN, NO_HEAD, NO_COLUMN)


def explain(hits: Hits) -> Finding:
    """Labels that the Trainer lists among the inputs are not missing."""
    if hits.first.signature == 2:
        return found(PROBLEM, NO_HEAD, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    inputs, keys = hits.get("inputs") or "", (hits.get("keys") or "").strip()
    if "labels" in inputs.replace(" ", "").split(","):
        return found(
            PROBLEM, LABELS_GIVEN, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            keys=", ".join(f"`{key.strip()}`" for key in keys.split(",")[:3]),
        )  # fmt: skip
    if hits.first.signature == 1:
        return found(PROBLEM, NO_COLUMN, where=hits.where(), evidence=hits.evidence())
    sure = CONFIRMED if inputs else LIKELY
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=sure)

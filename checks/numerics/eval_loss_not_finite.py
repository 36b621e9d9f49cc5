"""The loss of the evaluation is NaN while that of the training is a number.

## What it means
A mean over no token at all is NaN: in some batch of the evaluation every label is -100. Training divides by the tokens
of a whole step and often hides the same. Else it is fp16, in which the evaluation overflows.
## What it does to a run
It goes on. But `load_best_model_at_end` and early stopping compare with NaN: no comparison with NaN is true, so a first
NaN stays the best there is.
## What to do
Look at the labels of the rows of the evaluation; drop rows without an answer or raise the maximal length.
## How it is found
`eval_loss` is NaN or infinite in one evaluation while the loss of the training is finite.
## References
https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
https://github.com/huggingface/transformers/blob/v4.57.0/src/transformers/trainer.py
"""

from __future__ import annotations

import math
from typing import Optional

from doctor.core.columns import Stretch
from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.rules import sighting, step_text
from doctor.core.series import Point, rule

PROBLEM = Problem(id="NUM017", name="eval-loss-not-finite", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "`eval_loss` is {value} at step {step}, while the loss of the training is a number",
        "Mostly a batch of the evaluation has no label but -100: rows that were cut before their answer begins, or in "
        "which the template's mark was not found. A mean over nothing is NaN, and one such batch makes the whole "
        "evaluation NaN. In fp16 it can be an overflow. Choosing the best checkpoint and early stopping do not work: "
        "nothing compares better than NaN.",
        "Count the rows without a label: `sum(all(t == -100 for t in row['labels']) for row in "
        "trainer.eval_dataset)`; drop them or raise `max_length` (`cutoff_len`), and look at the training set, too. If "
        "there are none, evaluate in bf16. Take the checkpoint by another metric, or by hand.",
    ),
    zh=Words(
        "`eval_loss` 在第 {step} 步为 {value},而训练损失是正常数值",
        "通常是评测的某个 batch 中标签全为 -100:数据行在回答开始之前被截断,或找不到模板的标记。对空集求平均得到 NaN,一"
        "个这样的 batch 就使整个评测为 NaN。fp16 下也可能是溢出。此时最佳检查点的选择与早停都不起作用:任何值与 NaN 比"
        "较都不会更好。",
        "统计没有标签的行:`sum(all(t == -100 for t in row['labels']) for row in trainer.eval_dataset)`;删除这些行或增"
        "大 `max_length`(`cutoff_len`),并检查训练集。若没有这样的行,用 bf16 评测。按其他指标或手动选择检查点。",
    ),
)


@rule(PROBLEM, needs=("loss", "eval_loss"), symptom_of=("NUM006", "NUM007", "NUM016"))
class EvalLossNotFinite:
    """Told once, at the first; where the training is NaN, too, that is the trouble."""

    def __init__(self) -> None:
        self._loss: Optional[float] = None
        self._told = False

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one value."""
        if point.name == "loss":
            self._loss = point.value
            return None
        if self._told or math.isfinite(point.value) or self._loss is None or not math.isfinite(self._loss):
            return None
        self._told = True
        return found(PROBLEM, MESSAGE, value=f"{point.value:g}", step=step_text(point.step), **sighting(point))

    def calm(self, stretch: Stretch) -> bool:
        """Take in rows without such an evaluation."""
        if not stretch["eval_loss"].finite:
            return False
        if len(stretch["loss"]):
            self._loss = stretch.last("loss").value
        return True

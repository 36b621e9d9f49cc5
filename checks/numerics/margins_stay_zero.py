"""The margins of preference training stay exactly zero: the model remains its own reference.

## What it means
In DPO a reward is how much likelier the model makes an answer than its reference does. Both are equal before the first
step only. A margin of exactly 0 later on says that no weight has changed, that the reference changes along with the
model, or that chosen and rejected answer are the same text.
## What it does to a run
The loss stays at ln 2 = 0.6931 and the run ends well, having taught nothing.
## What to do
See whether gradients arrive and whether the two answers differ.
## How it is found
`rewards/margins` is exactly 0 in the first 50 logged steps, or in all steps of a run that logged at least 10.
## References
https://arxiv.org/abs/2305.18290
https://github.com/huggingface/trl/blob/v0.24.0/trl/trainer/dpo_trainer.py
"""

from __future__ import annotations

from typing import Optional

from doctor.core.columns import Stretch
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.rules import sighting, step_text
from doctor.core.series import Point, rule

PROBLEM = Problem(id="NUM018", name="margins-stay-zero", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "`rewards/margins` is exactly 0 in all {count} steps logged, up to step {step}",
        "The model is still its own reference, so the loss stays at ln 2 = 0.6931 and nothing is learned. Either no "
        "weight changes (no gradient reaches the adapter, all weights are frozen, or updates are lost in pure bf16 at "
        "a tiny learning rate), or the reference is the very same weights, or chosen and rejected are the same text.",
        "Look at `grad_norm`. If it is 0: `model.print_trainable_parameters()`, and with gradient checkpointing "
        "`model.enable_input_require_grads()`. If not: compare some rows of `chosen` and `rejected` after the chat "
        "template and truncation (a long prompt can leave both empty), load the reference on its own, and keep the "
        "trained weights in fp32 (`bf16=True` with a model loaded in fp32, or LoRA).",
    ),
    zh=Words(
        "截至第 {step} 步,已记录的 {count} 步中 `rewards/margins` 恰好全为 0",
        "模型仍与其参考模型相同,损失停在 ln 2 = 0.6931,什么也没有学到。可能是权重没有变化(梯度没有到达适配器、所有权重"
        "被冻结,或纯 bf16 下学习率过小使更新丢失),参考模型与训练模型是同一份权重,或 chosen 与 rejected 文本相同。",
        "查看 `grad_norm`。若为 0:执行 `model.print_trainable_parameters()`,使用梯度检查点时调用 "
        "`model.enable_input_require_grads()`。若不为 0:比较若干行 `chosen` 与 `rejected` 在应用聊天模板并截断之后的内"
        "容(过长的提示会使两者都为空),单独加载参考模型,并以 fp32 保存被训练的权重(模型以 fp32 加载并设 `bf16=True`,或"
        "使用 LoRA)。",
    ),
)

#: logged steps: a long warm-up in bf16 may lose the first updates
FIRST, WHOLE_RUN = 50, 10


@rule(PROBLEM, needs=("rewards/margins",), symptom_of=("NUM005", "NUM006", "NUM016", "RLX017", "DSP017"))
class MarginsStayZero:
    """Looks at the beginning only."""

    def __init__(self) -> None:
        self._count = 0
        self._settled = False
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Count zeros until the first value that is none."""
        if self._settled:
            return None
        if point.value != 0:
            self._settled = True
            return None
        self._count += 1
        self._last = point
        return self._found(point) if self._count == FIRST else None

    def calm(self, _stretch: Stretch) -> bool:
        """Take every row in once the beginning is over."""
        return self._settled

    def _found(self, point: Point) -> Finding:
        self._settled = True
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, count=self._count, step=step_text(point.step), **sighting(point)
        )

    def finish(self) -> Optional[Finding]:
        """Judge a short run as a whole."""
        if self._settled or self._last is None or self._count < WHOLE_RUN:
            return None
        return self._found(self._last)

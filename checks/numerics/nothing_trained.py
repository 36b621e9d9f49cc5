"""Loss and gradient are exactly zero from the first step on.

## What it means
Mostly no token of any row counts for the loss: every label is -100, because the template that marks the answer is not
found, the rows are cut before the answer, or the mask of the completion is empty. In fp16 losses that are NaN from the
first step on may read the same: the Trainer logs them as 0, and DeepSpeed has a norm of 0 until a step was not skipped.
## What it does to a run
The run looks well, ends well, and leaves the weights as they were.
## What to do
Look at the labels of one row.
## How it is found
`loss` and `grad_norm` are exactly 0 in the first 20 logged steps, or in all steps of a run that logged at least 5. Runs
that log rewards are left to the rules about rewards: a group of equal rewards has no gradient either.
## References
https://github.com/unslothai/unsloth/issues/1290
https://github.com/huggingface/trl/issues/1920
https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments.logging_nan_inf_filter
https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/runtime/zero/stage_1_and_2.py
"""

from __future__ import annotations

from typing import Optional

from doctor.core.columns import Stretch
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.rules import sighting, step_text
from doctor.core.series import Point, rule

PROBLEM = Problem(id="NUM016", name="nothing-trained", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "loss and gradient are exactly 0 in all {count} steps logged, up to step {step}",
        "Nothing is learned. Mostly no token counts for the loss, for every label is masked (-100): the text that "
        "marks where the answer begins is not found in the rows, the rows are cut before it, or the assistant's mask "
        "of the chat template is empty. In fp16 it may be NaN instead, which the Trainer logs as 0.",
        "Look at one row as the model gets it: `print([t for t in next(iter(trainer.get_train_dataloader()))"
        '["labels"][0].tolist() if t != -100])` must not be empty. Correct `response_template`, `response_part` or the '
        "columns, raise the maximal length, or use a template with `{{% generation %}}` for `assistant_only_loss`. If "
        "it is not empty: `logging_nan_inf_filter=False` shows a NaN.",
    ),
    zh=Words(
        "截至第 {step} 步,已记录的 {count} 步中损失与梯度恰好全为 0",
        "什么也没有学到。多半是没有任何 token 计入损失,即所有标签都被屏蔽(-100):在数据行中找不到标记回答开始的文本、数"
        "据行在此之前被截断,或聊天模板的 assistant 掩码为空。使用 fp16 时也可能是 NaN,Trainer 会把它记录为 0。",
        '查看模型得到的一行:`print([t for t in next(iter(trainer.get_train_dataloader()))["labels"][0].tolist() if t '
        "!= -100])` 不应为空。更正 `response_template`、`response_part` 或列名,增大最大长度,或为 "
        "`assistant_only_loss` 使用含 `{{% generation %}}` 的模板。若不为空:设置 "
        "`logging_nan_inf_filter=False` 可看到 NaN。",
    ),
)

#: logged steps
FIRST, WHOLE_RUN = 20, 5
_REWARDS = ("reward", "reward_std", "frac_reward_zero_std")


@rule(PROBLEM, needs=("loss", "grad_norm", *_REWARDS), symptom_of=("NUM005", "NUM006", "DAT055", "DSP017"))
class NothingTrained:
    """Looks at the beginning only: a loss may become 0 in the end."""

    def __init__(self) -> None:
        self._norms = self._losses = 0
        self._settled = False
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Count pairs of zeros until the first value that is none, or a reward."""
        if self._settled:
            return None
        if point.value != 0 or point.name in _REWARDS:
            self._settled = True
            return None
        if point.name == "loss":
            self._losses += 1
        else:
            self._norms += 1
        self._last = point
        return self._found(point) if self._count == FIRST else None

    @property
    def _count(self) -> int:
        """Steps of which both are known."""
        return min(self._norms, self._losses)

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

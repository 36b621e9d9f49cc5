"""The loss or the gradient is NaN or infinite.

## What it means
One NaN in activations, rewards, advantages or weights makes loss and gradient NaN. An infinite gradient alone is a
matter of the loss scale in fp16, and so is a NaN gradient of the first steps while the loss is finite: an overflow
turns into NaN on its way back through a softmax.
## What it does to a run
Where nothing skips the step (bf16, fp32) the optimizer writes NaN into all weights, and every later step is lost. The
next generation then dies with "probability tensor contains either `inf`, `nan` or element < 0", or, with greedy
decoding
or vLLM, goes on and produces garbage.
## What to do
Go back to the last checkpoint before that step. Look at what was NaN first in that step: a reward, `reward_std`, `kl`,
or nothing but the gradient. Then lower the learning rate, use bf16 rather than fp16, and keep gradient clipping on.
## How it is found
`grad_norm` is NaN, or `loss` is NaN or infinite, in any logged step. When all later steps are finite again the step
was skipped, and it is a warning; several such steps may as well be a run before another one in the same log. NaN
gradients from the first step on, beside a finite loss, are told once the loss is bad as well, when the log ends so, or
after 25 of them.
## References
https://github.com/huggingface/transformers/blob/main/src/transformers/trainer.py
https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
https://docs.pytorch.org/docs/stable/notes/amp_examples.html
"""

from __future__ import annotations

import math
from typing import Optional

from doctor.core.columns import Stretch
from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.rules import sighting, step_text
from doctor.core.series import Point, rule
from doctor.core.stats import Alarm

PROBLEM = Problem(id="NUM006", name="loss-or-gradient-not-finite", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "`{name}` is {value} at step {step}",
        "A NaN in the forward pass, the rewards or the weights reaches loss and gradient. Where the step is "
        "not skipped, the optimizer writes it into all weights, and everything after that step is lost.",
        "Go back to a checkpoint from before step {step}. Find out what was NaN first: a reward or its deviation, "
        "activations in fp16, or weights after too large a step; then use bf16, a lower learning rate, and clipping.",
    ),
    zh=Words(
        "`{name}` 在第 {step} 步为 {value}",
        "前向计算、奖励或权重中的 NaN 会传到 loss 和梯度。如果该步没有被跳过,优化器会把它写入所有权重,此后的训"
        "练全部作废。",
        "回到第 {step} 步之前的检查点。找出最先变成 NaN 的量:奖励或其标准差、fp16 下的激活、还是步子过大后的权"
        "重;然后使用 bf16、更低的学习率和梯度裁剪。",
    ),
)
PASSED = Message(
    en=Words(
        "`{name}` is {value} at step {step}, and finite in the steps after it",
        "The step was skipped or its gradient dropped, for weights that hold a NaN do not recover. It costs "
        "one step; when it happens often, training stands on thin ice.",
        "Nothing has to be mended for a single step. Watch how often it happens; use bf16 rather than fp16.",
    ),
    zh=Words(
        "`{name}` 在第 {step} 步为 {value},其后各步恢复为有限值",
        "该步被跳过或其梯度被丢弃,因为含 NaN 的权重不会恢复。代价只是一步;若频繁发生,训练就岌岌可危。",
        "单独一步无需处理。留意出现的频率;用 bf16 代替 fp16。",
    ),
)
PASSED_MANY = Message(
    en=Words(
        "`{name}` is not finite in {count} logged steps up to step {last}, and finite after them",
        "Weights that hold a NaN do not recover: either those steps were skipped or their gradients dropped, or "
        "another run begins behind them in the same log. They taught nothing.",
        "Look whether a new run begins behind step {last} (learning rate and counts of tokens start anew): then the "
        "one before it was lost, from step {step} on. Else find out what was NaN first, and use bf16 rather than fp16.",
    ),
    zh=Words(
        "截至第 {last} 步,`{name}` 在 {count} 个已记录步中不是有限值,其后恢复为有限值",
        "含 NaN 的权重不会恢复:要么这些步被跳过或其梯度被丢弃,要么同一日志中其后开始的是另一次运行。这些步没有带来"
        "任何学习。",
        "查看第 {last} 步之后是否开始了新的运行(学习率与 token 计数重新开始):若是,则前一次运行从第 {step} 步起已作"
        "废。否则找出最先变成 NaN 的量,并用 bf16 代替 fp16。",
    ),
)

#: finite steps running after which a NaN step counts as skipped: weights with a NaN in them give none at all
RECOVERED_AFTER = 5

#: logged NaN gradients from the first on that may be a loss scale on its way down: torch's 2^16 is 1 after 16 halvings
#: https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler
CALIBRATION = 25


@rule(PROBLEM, needs=("loss", "grad_norm"), symptom_of=("RLX006", "RLX007", "NUM008"), every_rank=True)
class LossOrGradientNotFinite:
    """Goes off at once; of the gradient only NaN counts, for infinity belongs to the loss scale."""

    def __init__(self) -> None:
        self._alarms = {"loss": Alarm(1, RECOVERED_AFTER), "grad_norm": Alarm(1, RECOVERED_AFTER)}
        self._first: Optional[Point] = None
        self._held: Optional[Point] = None  # the first NaN gradient of what may be a calibration
        self._held_count = 0
        self._seen = False  # a finite gradient
        self._loss: Optional[float] = None
        self._bad = {"loss": 0, "grad_norm": 0}  # rows that were not finite
        self._last: Optional[Point] = None  # the last of them

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one value."""
        value = point.value
        if point.name == "loss":
            bad, self._loss = not math.isfinite(value), value
        else:
            bad = math.isnan(value)
            self._seen = self._seen or math.isfinite(value)
        if bad:
            self._bad[point.name] += 1
            self._last = point
        if bad and self._calibrates(point):
            return None
        if not self._alarms[point.name].see(bad, point.step):
            return None
        if self._held is not None and not self._seen:
            point, self._held = self._held, None
        if self._first is not None and any(each.on for name, each in self._alarms.items() if name != point.name):
            return None  # the same trouble, told already under the other name
        self._first = self._first or point
        return self._found(MESSAGE, point, CONFIRMED)

    def _calibrates(self, point: Point) -> bool:
        """Whether a NaN gradient may be that of a scale on its way down: none was finite yet, and the loss is well."""
        if point.name == "loss" or self._seen or not self._loss or not math.isfinite(self._loss):
            return False
        self._held = self._held or point
        self._held_count += 1
        return self._held_count <= CALIBRATION

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose values are all finite."""
        if not all(stretch[name].finite for name in self._alarms):
            return False
        for name, alarm in self._alarms.items():
            alarm.rest(len(stretch[name]))
        self._seen = self._seen or len(stretch["grad_norm"]) > 0
        return True

    def _found(self, message: Message, point: Point, confidence: object) -> Finding:
        return found(
            PROBLEM,
            message,
            confidence=LIKELY if confidence is LIKELY else CONFIRMED,
            severity=ERROR if message is MESSAGE else WARNING,
            name=point.name,
            value="NaN" if math.isnan(point.value) else f"{point.value:g}",
            step=step_text(point.step),
            count=self._bad[point.name],
            last=step_text((self._last or point).step),
            **sighting(point),
        )

    def finish(self) -> Optional[Finding]:
        """Say so when the run went on with finite values, or ended before a gradient was finite."""
        if self._first is None and self._held is not None and not self._seen:
            return self._found(MESSAGE, self._held, CONFIRMED)
        if self._first is None or any(each.on for each in self._alarms.values()):
            return None
        message = PASSED if self._bad[self._first.name] == 1 else PASSED_MANY
        return self._found(message, self._first, LIKELY)

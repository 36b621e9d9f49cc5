"""The loss scale falls and does not recover.

## What it means
fp16 training multiplies the loss by a scale so that small gradients survive. When a gradient overflows, the step is
skipped and the scale halved; after a long stretch without overflow it is doubled. A run begins with some halvings,
from
2^16 down to what its gradients bear. Halvings that follow one another later mean that the gradients themselves grow.
## What it does to a run
Each halving is a step that was not applied. DeepSpeed ZeRO 1, 2 and 3 end with "Current loss scale already at minimum"
(with their defaults at the 18th overflow); ZeRO 0 and torch's GradScaler skip on for ever.
## What to do
Use bf16 where the GPUs have it. Else lower the learning rate, keep rewards and advantages of ordinary size, and clip.
## How it is found
The live scale, DeepSpeed's overflow lines, or `grad_norm` logged as inf. After the first applied step the third
halving without growth between is flagged: an error when they come fast (within 20 steps of one another) or the scale is
low, else a warning. Before that step the descent is calibration: information from the third halving on, a warning from
2^8, or from 5 halvings above the minimum where that is higher.
## References
https://www.deepspeed.ai/docs/config-json/#fp16-training-options
https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/runtime/fp16/loss_scaler.py
https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
"""

from __future__ import annotations

import math
from typing import Optional

from doctor.core.columns import Stretch
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.loss_scale import ATTEMPTED, HALVINGS, ScaleWatch
from doctor.core.problem import ERROR, INFO, WARNING, Problem, Severity
from doctor.core.rules import sighting
from doctor.core.series import Point, rule

PROBLEM = Problem(id="NUM005", name="loss-scale-falling", severity=ERROR, since="0.1")

_REMEDY = (
    "Use bf16 instead of fp16 where the GPUs have it (compute capability 8.0 and newer). Else lower the "
    "learning rate, bring rewards to ordinary size, keep `max_grad_norm=1.0`, and raise `initial_scale_power`."
)
_REMEDY_ZH = (
    "GPU 支持时(计算能力 8.0 及以上)用 bf16 代替 fp16。否则降低学习率,把奖励调到正常量级,保持 `max_grad_norm=1.0`,"
    "并提高 `initial_scale_power`。"
)
PREDICTED = Message(
    en=Words(
        "loss scale halved {count} times without recovery, now {scale}; minimum near step {end}",
        "The gradients overflow in fp16 again and again, and each overflow is a step that is not applied. At "
        "this pace the scale reaches its minimum near step {end}; DeepSpeed ZeRO 1 to 3 end the run there.",
        _REMEDY,
    ),
    zh=Words(
        "loss scale 已减半 {count} 次且未恢复,现为 {scale};约在第 {end} 步到达最小值",
        "梯度在 fp16 中反复溢出,每次溢出都意味着一步没有被应用。照此速度,scale 约在第 {end} 步到达最小值;"
        "DeepSpeed ZeRO 1 到 3 会在那里终止训练。",
        _REMEDY_ZH,
    ),
)
FALLING = Message(
    en=Words(
        "loss scale halved {count} times without recovery, now {scale}",
        "The gradients overflow in fp16 again and again, and each overflow is a step that is not applied. "
        "DeepSpeed ZeRO 1 to 3 end the run when the scale cannot fall further.",
        _REMEDY,
    ),
    zh=Words(
        "loss scale 已减半 {count} 次且未恢复,现为 {scale}",
        "梯度在 fp16 中反复溢出,每次溢出都意味着一步没有被应用。scale 无法再减时,DeepSpeed ZeRO 1 到 3 会终止训练。",
        _REMEDY_ZH,
    ),
)
CALIBRATING = Message(
    en=Words(
        "loss scale halved {count} times before the first applied step, now {scale}",
        "A start in fp16 descends from a high scale until the gradients fit; nothing is wrong as long as it "
        "stops well above the minimum.",
        "Wait for the first applied step; when the descent goes on, use bf16 or lower the learning rate.",
    ),
    zh=Words(
        "首个被应用的步之前 loss scale 已减半 {count} 次,现为 {scale}",
        "fp16 启动时会从很高的 scale 逐步下降,直到梯度不再溢出;只要停在远高于最小值处就没有问题。",
        "等待首个被应用的步;如果继续下降,请使用 bf16 或降低学习率。",
    ),
)
OVERFLOWING = Message(
    en=Words(
        "`grad_norm` is inf in {count} steps with hardly any good one between",
        "Gradients that overflow are not applied under fp16: the loss scale is halved and the step is "
        "skipped. DeepSpeed ZeRO 1 to 3 end the run when the scale cannot fall further; without a scaler inf "
        "gradients ruin the weights.",
        _REMEDY,
    ),
    zh=Words(
        "`grad_norm` 在 {count} 步中为 inf,其间几乎没有正常的步",
        "fp16 下溢出的梯度不会被应用:loss scale 减半并跳过该步。scale 无法再减时 DeepSpeed ZeRO 1 到 3 会终止"
        "训练;没有 scaler 时 inf 梯度会毁掉权重。",
        _REMEDY_ZH,
    ),
)

#: steps without overflow after which DeepSpeed doubles the scale (`loss_scale_window`); torch waits for 2000
WINDOW = 1000

#: overflows from the start after which the default 2^16 stands at 2^8: one that hysteresis eats, and 8 halvings
UNSEEN_CALIBRATION = 9

#: infinite gradients that stand for the third halving where no scale is told: hysteresis eats one after each growth,
#: and one more may be a batch of its own
UNSEEN_HALVINGS = 5


@rule(
    PROBLEM,
    needs=("loss_scale", ATTEMPTED, "min_loss_scale", "overflow", "skipped_steps", "grad_norm"),
    symptom_of=("NUM006",),
)
class LossScaleFalling:
    """Watches the scale; where none is told, infinite gradients stand for halvings."""

    def __init__(self) -> None:
        self.watch = ScaleWatch()
        self._told: Optional[Severity] = None
        self._good_rows = 0
        self._infinite: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Take one point in; only a fall of the scale, or an infinite gradient, can be a finding."""
        if point.name == "grad_norm":
            return self._gradient(point)
        severity = self.watch.feed(point)
        if self.watch.count == 0:
            self._told = None
        if severity is None or not self._is_news(severity):
            return None
        end = self.watch.end(point.step)
        message = CALIBRATING if severity is INFO else FALLING if end is None else PREDICTED
        scale = f"{self.watch.scale:g}"
        return found(
            PROBLEM, message, severity=severity, count=self.watch.count, scale=scale, end=end,
            **sighting(point, self.watch.began),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that tell nothing but finite gradients, once a step was applied."""
        norms = stretch["grad_norm"]
        if any(stretch[name].values for name in ("loss_scale", ATTEMPTED, "overflow", "skipped_steps")):
            return False
        if self._infinite is not None or not self.watch.applied or not norms.finite:
            return False
        self._good_rows += len(norms)
        return True

    def _is_news(self, severity: Severity) -> bool:
        """Each degree is told once, until the scale grows again."""
        if self._told is not None and self._told.rank <= severity.rank:
            return False
        self._told = severity
        return True

    def _gradient(self, point: Point) -> Optional[Finding]:
        watch = self.watch
        if self._infinite is None and watch.applied and -math.inf < point.value < math.inf:
            self._good_rows += 1  # the path of every step of a run that is well
            return None
        if not math.isinf(point.value):
            self._good_rows += math.isfinite(point.value)
            long_ago = watch.last is not None and (point.step or 0) - watch.last >= WINDOW
            if watch.scale is None and long_ago:
                watch.count, self._told = 0, None
            if point.value > 0:
                self._told = self._told if watch.applied else None
                watch.step_applied()
            return None
        self._infinite = point
        if watch.scale is not None:
            return None
        watch.halved(point.step)
        if watch.count < (UNSEEN_HALVINGS if watch.applied else UNSEEN_CALIBRATION):
            return None
        severity = ERROR if watch.applied else WARNING
        return self._overflowing(point, severity) if self._is_news(severity) else None

    def _overflowing(self, point: Point, severity: Severity) -> Finding:
        place = sighting(point, self.watch.began)
        return found(PROBLEM, OVERFLOWING, severity=severity, confidence=LIKELY, count=self.watch.count, **place)

    def finish(self) -> Optional[Finding]:
        """Judge a run that ended before any step was applied: every `grad_norm` that it logged is infinite."""
        if self._told is not None or self._infinite is None or self._good_rows or self.watch.count < HALVINGS:
            return None
        return self._overflowing(self._infinite, WARNING)

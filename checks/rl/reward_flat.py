"""The reward never changes.

## What it means
Every completion gets the same reward, step after step: the reward function always returns the same value, an answer is
never recognised (reward 0 for ever), or the task is solved and nothing is left to learn.
## What it does to a run
Equal rewards give zero advantages: loss 0, gradient 0, exit code 0. The run costs its GPUs and changes nothing.
## What to do
Print some completions beside their rewards. At 0: check the answer format, the parser and `max_completion_length`; try
easier prompts first. At a constant: mend the reward function. At the maximum: take harder data.
## How it is found
30 logged steps running with exactly the same `reward` and `reward_std` 0; or all steps of a run that logged at least
5.
## References
https://arxiv.org/abs/2402.03300
https://huggingface.co/docs/trl/grpo_trainer#using-a-custom-reward-function
"""

from __future__ import annotations

import math
from functools import partial
from typing import Optional

from doctor.core.columns import Stretch
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.rules import sighting, step_text
from doctor.core.series import Point, rule
from doctor.core.stats import Alarm

PROBLEM = Problem(id="RLX008", name="reward-flat", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "`reward` is exactly {value} in {count} logged steps running, since step {step}",
        "Every completion gets the same reward, so every advantage is zero, and nothing is learned. The "
        "reward function returns a constant, or the task is solved.",
        "Print completions beside their rewards and mend the reward function; where the task is solved, take "
        "harder data.",
    ),
    zh=Words(
        "自第 {step} 步起 `reward` 连续 {count} 个记录步恒为 {value}",
        "每个生成得到相同的奖励,所有优势值为零,学不到东西。要么奖励函数返回常数,要么任务已被解决。",
        "把生成与其奖励一起打印出来,修正奖励函数;若任务已解决,请换更难的数据。",
    ),
)
ZERO = Message(
    en=Words(
        "`reward` is 0 in {count} logged steps running, since step {step}",
        "No completion is ever rewarded, so every advantage is zero, and nothing is learned. Most often the "
        "answer is not recognised: format, parser, or completions cut off before the answer.",
        "Print completions beside their rewards; check answer format, parser and `max_completion_length`, and "
        "begin with easier prompts or a reward that grades parts of an answer.",
    ),
    zh=Words(
        "自第 {step} 步起 `reward` 连续 {count} 个记录步为 0",
        "没有任何生成得到奖励,所有优势值为零,学不到东西。最常见的原因是答案没有被识别:格式、解析,或在给出答案"
        "前就被截断。",
        "把生成与其奖励一起打印出来;检查答案格式、解析和 `max_completion_length`,先用更简单的 prompt,或采用能"
        "给部分分的奖励。",
    ),
)

#: logged steps running; a hard task with a binary reward can begin with twenty zeros
RUNNING = 30

#: logged steps that a whole run must have to be judged at its end
WHOLE_RUN = 5


#: whether two rewards are the same but for rounding
_same = partial(math.isclose, rel_tol=1e-9, abs_tol=1e-12)


@rule(PROBLEM, needs=("reward", "reward_std"), symptom_of=("RLX006",))
class RewardFlat:
    """Counts steps with the reward of the first of them; a deviation above zero begins the count anew."""

    def __init__(self) -> None:
        self._value: Optional[float] = None
        self._count = self._rows = 0
        self._alarm = Alarm(RUNNING, calm=1)
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Take a reward or a deviation in."""
        if point.name == "reward_std":
            if point.value > 0:
                self._count, self._value, self._alarm.bad, self._alarm.on = 0, None, 0, False
            return None
        self._rows += 1
        same = self._value is not None and _same(point.value, self._value)
        self._count = self._count + 1 if same else 1
        self._value, self._last = (None, point) if math.isnan(point.value) else (point.value, point)
        if not same:
            self._alarm.see(False, point.step)
        return self._found(point) if self._alarm.see(self._value is not None, point.step) else None

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that all deviate, or of which none has the reward of the one before."""
        rewards, deviations = stretch["reward"], stretch["reward_std"]
        if not rewards.values or not rewards.finite or self._alarm.bad >= RUNNING - 1 or self._alarm.on:
            return False
        if deviations.values:
            if not stretch.alike or not deviations.finite or deviations.low <= 0:
                return False
            self._count, self._value, self._alarm.bad = 0, None, 0
        else:
            before = [math.nan if self._value is None else self._value, *rewards.values]
            if any(map(_same, before, rewards.values)):
                return False
            self._value = before[-2] if len(rewards) > 1 else self._value
        self._rows += len(rewards) - 1
        for point in stretch.points(("reward", "reward_std"), rows=1) if stretch.alike else (stretch.last("reward"),):
            self.update(point)  # what the last row leaves behind is all that the next one is compared with
        return True

    def _found(self, point: Point) -> Finding:
        message = ZERO if point.value == 0 else MESSAGE
        began = self._alarm.since
        return found(
            PROBLEM, message, confidence=LIKELY, count=self._count, value=f"{point.value:g}", step=step_text(began),
            **sighting(point, began),
        )  # fmt: skip

    def finish(self) -> Optional[Finding]:
        """Judge a short run as a whole."""
        if self._alarm.on or self._last is None or self._rows < WHOLE_RUN or self._count < self._rows:
            return None
        return self._found(self._last)

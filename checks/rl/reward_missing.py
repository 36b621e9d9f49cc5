"""Reward functions return None or NaN.

## What it means
A reward function may return None for a completion that it does not score. When every function does so, or one returns
NaN, the completion has no reward at all; the log then says `reward: None` or `nan`, in older TRL 0.0.
## What it does to a run
Completions without a reward teach nothing: loss 0, gradient 0, exit code 0. In code that does not leave NaN out of its
means (`normalize` by group, sums over functions) a single NaN makes the advantages, the gradient and the weights NaN.
## What to do
Let each reward function return a float for every completion: no None, no NaN, no division by zero. Where a function is
meant for part of the data only, see that every completion is scored by at least one.
## How it is found
`reward` is None or NaN, or all `rewards/...` are, in two logged steps running; or one function gives None for 50 of
them. In rollouts that were kept: some answers have no usable reward in two steps running.
## References
https://huggingface.co/docs/trl/grpo_trainer#using-a-custom-reward-function
https://github.com/huggingface/trl/blob/main/trl/trainer/grpo_trainer.py
https://github.com/modelscope/ms-swift/issues/8123
"""

from __future__ import annotations

import math
from typing import Any, Optional

from doctor.core.columns import Stretch
from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.rules import sighting, step_text
from doctor.core.series import Point, rule
from doctor.core.stats import Alarm

PROBLEM = Problem(id="RLX006", name="reward-missing", severity=ERROR, since="0.1")

_REMEDY = (
    "Return a float for every completion, never None or NaN; guard divisions and parsing, and give 0.0 where "
    "an answer cannot be scored. Where a function is meant for part of the data, score the rest by another."
)
_REMEDY_ZH = (
    "对每个生成都返回浮点数,不要返回 None 或 NaN;保护除法与解析,无法评分时返回 0.0。"
    "若某函数只适用于部分数据,其余数据要由别的函数评分。"
)
MISSING = Message(
    en=Words(
        "`reward` is None or NaN from step {step} on",
        "No completion has a usable reward, so the advantages are empty or NaN: nothing is learned, and where "
        "NaN is not left out of the means it reaches gradient and weights.",
        _REMEDY,
    ),
    zh=Words(
        "自第 {step} 步起 `reward` 为 None 或 NaN",
        "没有任何生成得到可用的奖励,优势值为空或为 NaN:学不到东西;如果求均值时没有剔除 NaN,它还会传到梯度和权重。",
        _REMEDY_ZH,
    ),
)
NAMED = Message(
    en=Words(
        "reward function {functions} returns None or NaN from step {step} on",
        "Completions are left without a usable reward: nothing is learned from them, and where NaN is not "
        "left out of means and deviations, it makes advantages, gradient and weights NaN.",
        _REMEDY,
    ),
    zh=Words(
        "自第 {step} 步起奖励函数 {functions} 返回 None 或 NaN",
        "这些生成没有可用的奖励:无法从中学习;如果求均值和标准差时没有剔除 NaN,优势值、梯度和权重都会变成 NaN。",
        _REMEDY_ZH,
    ),
)
SILENT = Message(
    en=Words(
        "reward function {functions} has given no value in {count} logged steps",
        "The other functions still score, so training goes on without this one. That is right only when no "
        "completion of these steps was meant for it.",
        "See why it returns None or NaN for every completion; take it out when it is not meant for this data.",
    ),
    zh=Words(
        "奖励函数 {functions} 在 {count} 个记录步中没有给出任何值",
        "其他函数仍在评分,训练在缺少它的情况下继续。只有当这些步的生成都与它无关时才是正常的。",
        "查明它为何对每个生成都返回 None 或 NaN;若不适用于此数据,请去掉它。",
    ),
)
UNREWARDED = Message(
    en=Words(
        "{share} of the answers have None or NaN for a reward, since step {step}",
        "Nothing is learned from them; where NaN is not left out of means and deviations (sums over a group or a "
        "batch), a single one makes advantages, gradient and weights NaN.",
        _REMEDY,
    ),
    zh=Words(
        "自第 {step} 步起 {share} 的回答的奖励为 None 或 NaN",
        "无法从中学习;如果求均值和标准差(组内或批内求和)时没有剔除 NaN,一个就足以使优势值、梯度和权重变成 NaN。",
        _REMEDY_ZH,
    ),
)

#: steps running: a batch that no function is meant for can happen once
RUNNING = 2

#: logged steps without one value after which a function is named although the others score
SILENT_STEPS = 50

#: functions watched one by one; nobody has more
MOST_FUNCTIONS = 32


def _function_of(metric: str) -> str:
    """The reward function whose mean a metric is; empty for its deviation and for what is no function's."""
    if not metric.startswith("rewards/"):
        return ""
    name, _, figure = metric[len("rewards/") :].rpartition("/")
    return "" if figure == "std" else name or figure


@rule(PROBLEM, needs=("reward", "rewards/*"))
class RewardMissing:
    """Keeps which functions gave nothing in this step; `reward` comes behind them and is judged with them."""

    def __init__(self) -> None:
        self._alarm = Alarm(RUNNING, calm=5)
        self._functions: dict[str, bool] = {}
        self._silent: dict[str, Alarm] = {}
        self._names = ""
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Take a function's mean in, or judge the step when its `reward` comes."""
        if point.name != "reward":
            return self._function(point)
        nan = [name for name, missing in self._functions.items() if missing]
        all_nan = bool(nan) and len(nan) == len(self._functions)
        self._functions.clear()
        bad = math.isnan(point.value) or all_nan
        if bad:
            self._names, self._last = ", ".join(f"`{name}`" for name in nan[:4]), point
        return self._missing(point) if self._alarm.see(bad, point.step) else None

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that all have a reward of every function; each row ends in order, see `update`."""
        last = stretch.rows[-1].names
        if any(self._functions.values()) or not stretch["reward"].finite or "reward" not in last:
            return False
        judged: list[tuple[Alarm, int]] = [(self._alarm, len(stretch["reward"]))]
        for name, column in stretch.columns.items():
            function = _function_of(name)
            if function:
                alarm = self._silent.get(function)
                if alarm is None or not column.finite:
                    return False
                judged.append((alarm, len(column)))
        for alarm, count in judged:
            alarm.rest(count)
        behind = last[last.index("reward") + 1 :]
        self._functions = {function: False for name in behind if (function := _function_of(name))}
        return True

    def _function(self, point: Point) -> Optional[Finding]:
        name = _function_of(point.name)
        if not name or (len(self._silent) >= MOST_FUNCTIONS and name not in self._silent):
            return None
        missing = math.isnan(point.value)
        self._functions[name] = missing
        alarm = self._silent.setdefault(name, Alarm(SILENT_STEPS, calm=1))
        if not alarm.see(missing, point.step) or self._alarm.on:
            return None
        place = sighting(point, alarm.since)
        return found(
            PROBLEM, SILENT, severity=WARNING, confidence=LIKELY, functions=f"`{name}`", count=SILENT_STEPS, **place
        )

    def _missing(self, point: Point, **more: Any) -> Finding:
        step = step_text(self._alarm.since)
        message = NAMED if self._names else MISSING
        place = sighting(point, self._alarm.since)
        return found(PROBLEM, message, **{"confidence": CONFIRMED, **more}, functions=self._names, step=step, **place)

    def finish(self) -> Optional[Finding]:
        """Judge a run that ended right behind its first step without a reward."""
        if self._last is None or self._alarm.on or self._alarm.bad == 0:
            return None
        return self._missing(self._last, confidence=LIKELY)


@rule(PROBLEM, needs=("completions/unrewarded_ratio",))
class AnswersUnrewarded:
    """The same in rollouts that were kept, where it is told of each answer."""

    def __init__(self) -> None:
        self._alarm = Alarm(RUNNING, calm=5)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one share; where no answer is rewarded, `reward` itself is NaN."""
        if not self._alarm.see(0 < point.value < 1, point.step):
            return None
        began = self._alarm.since
        return found(
            PROBLEM, UNREWARDED, severity=WARNING, confidence=LIKELY, share=f"{100 * point.value:.2g} %",
            step=step_text(began), **sighting(point, began),
        )  # fmt: skip

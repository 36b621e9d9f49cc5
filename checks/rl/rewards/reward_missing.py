"""Judges reward-missing (RLX006), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Optional

from doctor.base.stats import Alarm
from doctor.catalogue.columns import Stretch
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.problem import WARNING
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MISSING = TOML["missing"]
NAMED = TOML["named"]
SILENT = TOML["silent"]
UNREWARDED = TOML["unrewarded"]


#: steps running: a batch that no function is meant for can happen once
RUNNING = 2

#: logged steps without one value after which a function is named although the others score
SILENT_STEPS = 50

#: functions watched one by one; nobody has more
MOST_FUNCTIONS = 32


@lru_cache(maxsize=256)
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
        self._told = False
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
        if not self._alarm.see(bad, point.step):
            return None
        self._told = True
        return self._missing(point)

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
        alarm = self._silent.get(name)
        if alarm is None:
            alarm = self._silent[name] = Alarm(SILENT_STEPS, calm=1)
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
        if self._last is None or self._told or self._alarm.bad == 0:
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

"""Judges group-of-one (RLX007), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Optional

from doctor.base.stats import Alarm
from doctor.catalogue.columns import Stretch
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
ALONE = TOML["alone"]
#: what the number of answers to one prompt is called
_SIZES = (
    "num_generations", "rollout.n", "n_samples_per_prompt", "num_generations_per_prompt", "group_size", "n_samples",
    "repeat_times",
)  # fmt: skip


@rule(PROBLEM, needs=("reward", "reward_std"), symptom_of=("RLX006",))
class GroupOfOne:
    """Compares the two figures of one step; TRL prints `reward` first."""

    def __init__(self) -> None:
        self._step: Optional[int] = None
        self._is_number = False
        self._alarm = Alarm(1, calm=5)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge a deviation against the reward of the same step."""
        if point.name == "reward":
            self._step, self._is_number = point.step, math.isfinite(point.value)
            return None
        bad = math.isnan(point.value) and self._is_number and point.step == self._step
        if not self._alarm.see(bad, point.step):
            return None
        return found(PROBLEM, MESSAGE, confidence=LIKELY, step=step_text(point.step), **sighting(point))

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose deviations are all numbers."""
        rewards, deviations = stretch["reward"], stretch["reward_std"]
        if not deviations.finite:
            return False
        self._alarm.rest(len(deviations))
        if rewards.values:
            self._step, self._is_number = rewards.steps[-1], math.isfinite(rewards.values[-1])
        return True


def of_courses(courses: Courses) -> Optional[Finding]:
    """No advantage in any step, and the settings say why: each prompt is answered once."""
    alone = next((name for name in _SIZES if courses.number(name) == 1), None)
    zero = next(
        (
            course
            for name in ("critic/advantages/max", "reward_std")
            if (course := courses.always(name, 0.0, 0.0)) is not None
        ),
        None,
    )
    lowest = courses.of.get("critic/advantages/min")
    if alone is None or zero is None or (lowest is not None and lowest.low < 0):
        return None
    return found(
        PROBLEM, ALONE, confidence=LIKELY, where=Where(file=zero.source, step=zero.last_step), setting=f"{alone}=1",
        metric=zero.name, count=zero.count,
    )  # fmt: skip

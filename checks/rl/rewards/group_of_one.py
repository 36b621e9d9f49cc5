"""Judges group-of-one (RLX007), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Optional

from doctor.base.stats import Alarm
from doctor.catalogue.columns import Stretch
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@rule(PROBLEM, needs=("reward", "reward_std"))
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

"""Judges step-time-growing (PRF007), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Optional

from doctor.base.stats import Alarm, Baseline, Window
from doctor.catalogue.columns import Column, Stretch
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.problem import INFO, WARNING
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
SLOWER = TOML["slower"]
LONGER = TOML["longer"]


#: logged steps of the medians, those left to the warm-up (compilation, caches), and the factor
STEPS, SKIP, TIMES = 25, 5, 2.0

#: share of the growth that completions must have shared in to be the reason
OF_GROWTH = 0.7


@rule(PROBLEM, needs=("completions/mean_length", "step_time"))
class StepTimeGrowing:
    """Compares the median of the last steps with that of the first, and the completions' length beside it."""

    def __init__(self) -> None:
        self._base = {name: Baseline(STEPS, SKIP) for name in ("step_time", "completions/mean_length")}
        self._recent = {name: Window(STEPS) for name in self._base}
        self._alarm = Alarm(STEPS, calm=STEPS)

    def update(self, point: Point) -> Optional[Finding]:
        """Take one figure in; judge when it is a time."""
        name = point.name
        if not math.isfinite(point.value) or not self._base[name].push(point.value):
            return None
        self._recent[name].push(point.value)
        if name != "step_time" or not self._recent[name].full:
            return None
        times = self._times(name)
        if not self._alarm.see(times > TIMES, point.step):
            return None
        longer = self._times("completions/mean_length") >= OF_GROWTH * times
        return found(
            PROBLEM, LONGER if longer else SLOWER, confidence=LIKELY, severity=INFO if longer else WARNING,
            now=f"{self._recent[name].median:.3g}", times=f"{times:.1f}", step=step_text(point.step),
            **sighting(point, self._alarm.since),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose times are all short enough."""
        told = {name: stretch[name] for name in self._base if stretch[name].values}
        if not all(each.finite and self._recent[name].full for name, each in told.items()):
            return False
        times = told.get("step_time")
        first = self._base["step_time"].median or 0.0
        if times is not None and (first < 0 or self._may_grow(times, TIMES * first)):
            return False
        for name, each in told.items():
            self._recent[name].extend(each.values)
        self._alarm.rest(len(times) if times is not None else 0)
        return True

    def _may_grow(self, times: Column, most: float) -> bool:
        """Whether some median may be longer than this."""
        recent = self._recent["step_time"]
        return max(times.high, recent.high) > most > 0 and recent.most_above(most, times.values) > STEPS // 2

    def _times(self, name: str) -> float:
        first = self._base[name].median
        return self._recent[name].median / first if first and len(self._recent[name]) else 0.0

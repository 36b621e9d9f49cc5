"""Judges importance-ratio-drift (RLX015), whose words stand in the TOML beside it.

What the ratio itself shows stands here, the rest by subject: the gap between both sides, the distance of the policy
from itself, the age of the samples.
"""

from __future__ import annotations

import math
from typing import Optional

from doctor.base.stats import Alarm, Baseline, Window
from doctor.catalogue.columns import Stretch
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of
from doctor.checks.rl.sampling._policy_drift import DriftFromTheFirstStep, DriftSpikes, DriftWidens
from doctor.checks.rl.sampling._sample_ages import (
    RatioThatNeverMoves,
    SamplesFromTheFuture,
    SamplesOfOldPolicies,
    SamplesThatAge,
)
from doctor.checks.rl.sampling._sampler_levels import (
    LEVEL_STEPS,
    SamplerAgainstLearner,
    SamplerFarFromTheFirstStep,
    SidesPartWithTheFirstUpdate,
)

__all__ = [  # all rules of the problem, which whoever loads this module finds
    "DriftFromTheFirstStep",
    "DriftSpikes",
    "DriftWidens",
    "ImportanceRatioDrift",
    "RatioOfSequences",
    "RatioThatNeverMoves",
    "SamplerAgainstLearner",
    "SamplerFarFromTheFirstStep",
    "SamplesFromTheFuture",
    "SamplesOfOldPolicies",
    "SamplesThatAge",
    "SidesPartWithTheFirstUpdate",
    "of_courses",
]

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE, SUMMED = TOML["main"], TOML["summed"]


#: logged steps of the medians; factor by which the ratio must have moved, and from 1
STEPS, TIMES = 10, 2.0


@rule(PROBLEM, needs=("sampling/importance_sampling_ratio/mean",), symptom_of=("RLX014",))
class ImportanceRatioDrift:
    """Compares the median of the last steps with that of the first."""

    def __init__(self) -> None:
        self._base = Baseline(STEPS)
        self._recent = Window(STEPS)
        self._alarm = Alarm(1, calm=STEPS)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one mean."""
        if not math.isfinite(point.value) or not self._base.push(point.value):
            return None
        self._recent.push(point.value)
        first = self._base.median
        if not first or first <= 0 or not self._recent.full:
            return None
        now = self._recent.median
        low = now < min(1 / TIMES, first / TIMES)
        if not self._alarm.see(low or now > max(TIMES, TIMES * first), point.step):
            return None
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, first=f"{first:.2g}", value=f"{now:.2g}", step=step_text(point.step),
            **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose means all lie where a median may lie."""
        means, first, recent = stretch["sampling/importance_sampling_ratio/mean"], self._base.median, self._recent
        if not first or first <= 0 or not recent.full or not means.finite:
            return False
        low, high = min(means.low, recent.low), max(means.high, recent.high)
        if low < min(1 / TIMES, first / TIMES) or high > max(TIMES, TIMES * first):
            return False
        recent.extend(means.values)
        self._alarm.rest(len(means))
        return True


_RATIO = "sampling/importance_sampling_ratio/mean"
#: what says that tokens agree -> how large it is at most: a mean |difference| that rounding makes, NeMo-RL's bar for a
#: mean exp|difference|. A mean ratio per token cannot be below exp(-0.05) = 0.95 then. With sequence-level weights one
#: run had 0.06 beside 1.024: https://github.com/NVIDIA-NeMo/RL/pull/2269
AGREES = {"sampling/sampling_logp_difference/mean": 0.015, "sampling/probability_error": 1.05}
LEFT = 0.8


@rule(PROBLEM, needs=(*AGREES, _RATIO))
class RatioOfSequences:
    """A mean ratio far below 1 beside tokens that agree: it is taken over sequences, and cut at its cap."""

    def __init__(self) -> None:
        self._ratios = Window(LEVEL_STEPS)
        self._gaps = {name: Window(LEVEL_STEPS) for name in AGREES}
        #: step from which on the ratio has been low; None while it is not
        self._since: Optional[int] = None
        self._low = False
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Take one figure in."""
        if math.isfinite(point.value):
            if point.name == _RATIO:
                self._last = point
                self._take(point.value, point.step)
            else:
                self._gaps[point.name].push(abs(point.value))
        return None

    def _take(self, ratio: float, step: Optional[int]) -> None:
        self._ratios.push(ratio)
        low = ratio < LEFT
        if low and not self._low:
            self._since = step
        self._low = low

    def calm(self, stretch: Stretch) -> bool:
        """Take finite figures in: they are judged at the end."""
        if not all(stretch[name].finite for name in (*AGREES, _RATIO)):
            return False
        for name, gaps in self._gaps.items():
            gaps.extend([abs(each) for each in stretch[name].values[-LEVEL_STEPS:]])
        ratios = stretch[_RATIO]
        if ratios.values:
            self._last = stretch.last(_RATIO)
            for ratio, step in zip(ratios.values, ratios.steps):  # noqa: B905 - Python 3.9
                self._take(ratio, step)
        return True

    def finish(self) -> Optional[Finding]:
        """Judge the last values."""
        known = {name: gaps.median for name, gaps in self._gaps.items() if len(gaps)}
        agree = known and all(gap < AGREES[name] for name, gap in known.items())
        if self._last is None or not agree or self._ratios.median >= LEFT:
            return None
        gap = known.get("sampling/sampling_logp_difference/mean", known.get("sampling/probability_error", 1.0) - 1.0)
        return found(
            PROBLEM, SUMMED, confidence=LIKELY, value=f"{self._ratios.median:.3g}", gap=f"{gap:.2g}",
            **sighting(self._last, self._since if self._low else None),
        )  # fmt: skip


def of_courses(courses: Courses) -> Optional[Finding]:
    """What settings say of a gap between sampler and learner, or of an age: the first law that is broken."""
    # a guard carries the rules alone
    from doctor.checks.rl.sampling._laws import LAWS
    from doctor.checks.rl.sampling._reasons import converted, divided_twice, parts_after_the_first

    laws = (divided_twice, parts_after_the_first, converted, *LAWS)
    broken = next((each for law in laws if (each := law(courses)) is not None), None)
    if broken is None:
        return None
    where = Where(file=broken.course.source, step=broken.course.last_step)
    return found(PROBLEM, TOML[broken.message], confidence=LIKELY, where=where, **broken.values)

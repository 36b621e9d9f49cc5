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
from doctor.checks.rl.sampling._sample_ages import RatioThatNeverMoves, SamplesFromTheFuture, SamplesOfOldPolicies
from doctor.checks.rl.sampling._sampler_levels import LEVEL_STEPS, SamplerAgainstLearner, SamplerFarFromTheFirstStep

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


_DIFFERENCE, _RATIO = "sampling/sampling_logp_difference/mean", "sampling/importance_sampling_ratio/mean"
#: a gap per token that rounding makes, and a mean ratio that tokens which agree so well cannot have: exp(0.015) = 1.015
AGREES, LEFT = 0.015, 0.8


@rule(PROBLEM, needs=(_DIFFERENCE, _RATIO))
class RatioOfSequences:
    """A mean ratio far below 1 beside tokens that agree: it is taken over sequences, and cut at its cap."""

    def __init__(self) -> None:
        self._ratios = Window(LEVEL_STEPS)
        self._gaps = Window(LEVEL_STEPS)
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Take one figure in."""
        if math.isfinite(point.value):
            if point.name == _RATIO:
                self._ratios.push(point.value)
                self._last = point
            else:
                self._gaps.push(abs(point.value))
        return None

    def calm(self, stretch: Stretch) -> bool:
        """Take finite figures in: they are judged at the end."""
        gaps, ratios = stretch[_DIFFERENCE], stretch[_RATIO]
        if not (gaps.finite and ratios.finite):
            return False
        self._gaps.extend([abs(each) for each in gaps.values[-LEVEL_STEPS:]])
        if ratios.values:
            self._ratios.extend(ratios.values)
            self._last = stretch.last(_RATIO)
        return True

    def finish(self) -> Optional[Finding]:
        """Judge the last values."""
        if self._last is None or not self._gaps or self._ratios.median >= LEFT or self._gaps.median >= AGREES:
            return None
        return found(
            PROBLEM, SUMMED, confidence=LIKELY, value=f"{self._ratios.median:.3g}", gap=f"{self._gaps.median:.2g}",
            **sighting(self._last),
        )  # fmt: skip


def of_courses(courses: Courses) -> Optional[Finding]:
    """What settings say of a gap between sampler and learner, or of an age: the first law that is broken."""
    from doctor.checks.rl.sampling._laws import LAWS  # a guard carries the rules alone

    broken = next((each for law in LAWS if (each := law(courses)) is not None), None)
    if broken is None:
        return None
    where = Where(file=broken.course.source, step=broken.course.last_step)
    return found(PROBLEM, TOML[broken.message], confidence=LIKELY, where=where, **broken.values)

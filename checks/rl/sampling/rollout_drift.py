"""Judges rollout-drift (RLX014), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
import re
from typing import Optional

from doctor.base.stats import Alarm, Baseline, Climb, Window
from doctor.catalogue.columns import Stretch
from doctor.catalogue.courses import FEW, Courses
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.problem import WARNING
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.shared.gaps import gaps_in
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
WEIGHTS = TOML["weights"]
PROBABILITIES, KL, QUOTED = TOML["probabilities"], TOML["kl"], TOML["quoted"]


#: hydra override of veRL, https://github.com/verl-project/verl/pull/3595
NO_CASCADE = "+actor_rollout_ref.rollout.engine_kwargs.vllm.disable_cascade_attn=True"

#: a rise by this factor; TRL issue 5312 measured 0.20 at the third step against 0.015 with the right weights
TIMES = 3.0

#: below these means nobody need worry: bf16 alone gives 0.015 (log probability), 0.005 (probability), below 0.01 (KL)
FLOORS = {
    "sampling/sampling_logp_difference/mean": 0.04, "sampling/probs_difference/mean": 0.015, "rollout_corr/kl": 0.02,
}  # fmt: skip

#: a gap that opens by this factor from the first value to the second: not growing distance, which takes several
#: updates to reach it, but what the first one brought
SECOND, OPENED = 2, 10.0

#: logged steps of the medians, and rises running at the beginning of a run that are enough
STEPS, RISES = 10, 2


class _Side:
    """State of one of the metrics."""

    def __init__(self) -> None:
        self.base, self.recent = Baseline(STEPS), Window(STEPS)
        self.alarm = Alarm(1, calm=STEPS)
        self.first: Optional[float] = None
        self.opened = ""
        self.last = math.inf
        self.rises = self.count = 0


@rule(PROBLEM, needs=tuple(FLOORS))
class RolloutDrift:
    """Two ways to see it in each metric: a climb from the very first step, or a median far above the first one."""

    def __init__(self) -> None:
        self._sides = {name: _Side() for name in FLOORS}

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one difference."""
        side, value = self._sides[point.name], point.value
        if not math.isfinite(value):
            return None
        side.count += 1
        side.first = value if side.first is None else side.first
        if side.count == SECOND and value >= max(OPENED * side.first, FLOORS[point.name]):
            side.opened = f"{value:.3g}"
        side.rises = side.rises + 1 if value > side.last else 0
        side.last = value
        climbed = side.rises == side.count - 1 >= RISES and value >= TIMES * side.first
        first, now = side.first, value
        if side.base.push(value) and side.base.median is not None:
            side.recent.push(value)
            first, now = side.base.median, side.recent.median if side.recent.full else 0.0
            climbed = climbed or now >= TIMES * first
        now = max(now, value) if climbed else now
        if not side.alarm.see(climbed and now >= FLOORS[point.name], point.step):
            return None
        message = WEIGHTS if "logp" in point.name else KL if point.name.endswith("/kl") else PROBABILITIES
        commands = (NO_CASCADE,) if message is PROBABILITIES else ()
        return found(
            PROBLEM, message, confidence=LIKELY, commands=commands, first=f"{first:.2g}", value=f"{now:.2g}",
            opened=side.opened, step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose differences are all small, once the first climb is over."""
        told = [(self._sides[name], floor, stretch[name]) for name, floor in FLOORS.items() if stretch[name].values]
        for side, floor, column in told:
            first = side.base.median
            if first is None or not side.recent.full or not column.finite or side.rises >= side.count - 1:
                return False
            if max(column.high, side.recent.high) >= max(floor, TIMES * first):
                return False
        for side, _, column in told:
            side.count += len(column)
            side.rises, side.last = 0, column.values[-1]  # a count of rises that once fell behind stays behind
            side.recent.extend(column.values)
            side.alarm.rest(len(column))
        return True


#: a climb that never pauses: the medians of so many blocks of so many values rise one after the other, which chance
#: does once in 720 times. It is told from a level on that bf16 alone does not reach, and where the gap has more than
#: doubled: 0.011 to 0.036 in 30 steps, where another engine stayed at 0.011
#: (https://github.com/vllm-project/vime/issues/64)
BLOCK, BLOCKS, CLIMB, CLIMBED = 5, 6, 2.5, 0.025
_GAP = "sampling/sampling_logp_difference/mean"


@rule(PROBLEM, needs=(_GAP,))
class SteadyClimb:
    """The gap rises without a pause from the beginning of a run on."""

    def __init__(self) -> None:
        self._climb = Climb(BLOCK, BLOCKS, CLIMB, CLIMBED)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one block once it is full; where the gap pauses, what is wrong then is judged by its level."""
        now = self._climb.passed(point.value) if math.isfinite(point.value) else None
        if now is None:
            return None
        return found(
            PROBLEM, WEIGHTS, confidence=LIKELY, severity=WARNING, first=f"{self._climb.first:.2g}",
            value=f"{now:.2g}", opened="", step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    @property
    def over(self) -> bool:
        """Whether the climb has paused, or was told."""
        return self._climb.over


#: what sampler and learner differ by elsewhere, or began with, times this is another size
APART, JUMP = 1.5, 5.0
#: settings and words that say what a gap may come from, the most telling first
_SOURCES = (
    ("precision", r"(?i)fp8|ue8m0|\bint[48]\b|4.?bit|quanti[sz]"), ("packing", r"(?i)\bpack(?:ed|ing)\b"),
    ("routing", r"(?i)\bmoe\b|-a\d+b\b|router|experts"), ("adapter", r"(?i)\blora\b|adapter"),
)  # fmt: skip


def of_quoted(courses: Courses) -> Optional[Finding]:
    """A gap that an excerpt quotes: beyond its bounds, far from that of another run, or far from where it began."""
    for gap in gaps_in(courses.words) if courses.excerpt else ():
        values, (low, high) = [each for each in gap.values if math.isfinite(each)], gap.bounds
        if not values:
            continue
        beyond = all(not low < each < high for each in values)
        apart = math.isfinite(gap.there) and max(map(abs, values)) >= APART * abs(gap.there)
        jumped = 1 < len(values) <= FEW and abs(values[-1]) >= max(JUMP * abs(values[0]), gap.rounding)
        if beyond or apart or jumped:
            return found(
                PROBLEM, QUOTED, severity=WARNING, confidence=LIKELY, metric=gap.name, value=f"{values[-1]:.3g}",
                other=gap.other if apart else "", there=f"{gap.there:.3g}", first=f"{values[0]:.3g}" if jumped else "",
                source=_source(courses),
            )  # fmt: skip
    return None


def _source(courses: Courses) -> object:
    """What the settings leave as the likeliest source of a gap; "" where they tell none."""
    temperature = courses.number("temperature", "rollout.temperature", "rollout_temperature")
    if temperature not in {None, 1.0, 0.0}:
        return TOML.phrase("temperature", temperature=f"{temperature:g}")
    return next((TOML.phrase(name) for name, pattern in _SOURCES if re.search(pattern, courses.words)), "")

"""Rules of RLX015 about the distance of a policy from the one that is said to have made the samples."""

from __future__ import annotations

import math
from collections import deque
from typing import Optional

from doctor.base.stats import Alarm, Climb, Window
from doctor.catalogue.columns import Stretch
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of("doctor.checks.rl.sampling.importance_ratio_drift")
PROBLEM = TOML.problem
AT_ONCE, SPIKES, CLIMBS = TOML["at_once"], TOML["spikes"], TOML["climbs"]

#: Before the first update old and new policy are the same weights. What is left is arithmetic where one engine computes
#: both: exactly 0 where it is the same forward (slime and Miles assert < 1e-8 in CI with kernels made deterministic,
#: https://github.com/THUDM/slime/blob/main/slime/backends/megatron_utils/model.py), and s^2 / 2 = 0.001 or less with
#: s = 0.05 in bf16 (https://github.com/huggingface/trl/issues/6789). A first step has several updates, too, which move
#: a policy by 0.001 and less where it learns. The bound is that of a KL to the reference (RLX7581): s = 0.3
AT_START, FIRST_VALUES = 0.3**2 / 2, 5


@rule(PROBLEM, needs=("policy_drift",), symptom_of=("RLX014", "NUM008"))
class DriftFromTheFirstStep:
    """A policy that is far from itself at the first step and stays there: its old log probabilities are an engine's."""

    def __init__(self) -> None:
        self.over = False
        self._first: Optional[Point] = None
        self._count, self._least = 0, math.inf

    def update(self, point: Point) -> Optional[Finding]:
        """Judge the first values only, and only where they begin at step 0 or 1."""
        if self.over:
            return None
        if self._first is None:
            self.over = point.step is None or point.step > 1
            self._first = point
        self._count += 1
        self._least = min(self._least, abs(point.value))
        if self.over or not AT_START < abs(point.value) < math.inf:
            self.over = True
            return None
        return self._found() if self._count == FIRST_VALUES else None

    def _found(self) -> Optional[Finding]:
        self.over = True
        first = self._first
        if first is None:
            return None
        return found(
            PROBLEM, AT_ONCE, confidence=LIKELY, value=f"{first.value:.2g}", step=step_text(first.step),
            **sighting(first),
        )  # fmt: skip

    def finish(self) -> Optional[Finding]:
        """Judge a run that is shorter: by twice the bound, for fewer values prove less."""
        return self._found() if not self.over and self._count and self._least > 2 * AT_START else None


#: a policy is this far from itself in a spike, and this many times what is usual; updates of one batch move it by 0.001
#: and less where they are well (`AT_START`). Four within 200 steps do not come by chance: turns that are encoded again
#: from text (https://github.com/rllm-org/rllm/pull/272), log probabilities of a policy that has been updated meanwhile
#: (https://github.com/Alibaba-Quark/SSP/pull/13). What is usual is known from `LEAST` values on
SPIKE, BEYOND, SPIKES_NEEDED, WITHIN, USUAL, LEAST = 0.1, 50.0, 4, 200, 31, 5


@rule(PROBLEM, needs=("policy_drift",), symptom_of=("RLX014", "NUM008", "RLX004"))
class DriftSpikes:
    """Counts single batches in which the policy is far from the one that is said to have made them."""

    def __init__(self) -> None:
        self._usual = Window(USUAL)
        self._spikes: deque[tuple[int, float]] = deque()
        self._count = 0
        self._alarm = Alarm(1, calm=WITHIN)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one value by those before it."""
        value = abs(point.value)
        if not math.isfinite(value):
            return None
        self._count += 1
        while self._spikes and self._spikes[0][0] <= self._count - WITHIN:
            self._spikes.popleft()
        if len(self._usual) >= LEAST and value > max(SPIKE, BEYOND * self._usual.median):
            self._spikes.append((self._count, value))
        else:
            self._usual.push(value)
        if not self._alarm.see(len(self._spikes) >= SPIKES_NEEDED, point.step):
            return None
        return found(
            PROBLEM, SPIKES, confidence=LIKELY, count=len(self._spikes), step=step_text(point.step),
            value=f"{max(each for _, each in self._spikes):.2g}", usual=f"{self._usual.median:.2g}", **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that are all below a spike."""
        values = stretch["policy_drift"]
        if self._spikes or self._alarm.on or not values.finite or max(values.high, -values.low) > SPIKE:
            return False
        self._usual.extend([abs(each) for each in values.values])
        self._count += len(values)
        self._alarm.rest(len(values))
        return True


#: blocks of values whose medians all rise, which chance does once in 720 times; how much they must have risen, and a
#: distance that no update of a policy which is well makes (`AT_START`). A warm-up of the rate lets it rise, too, but
#: ends far below: https://github.com/verl-project/verl-omni/pull/553
BLOCK, BLOCKS, CLIMB, CLIMBED = 5, 6, 10.0, 0.01


@rule(PROBLEM, needs=("policy_drift",), symptom_of=("RLX014", "RLX021"))
class DriftWidens:
    """Each block of steps finds the policy further from the one that made the samples, which stays behind."""

    def __init__(self) -> None:
        self._climb = Climb(BLOCK, BLOCKS, CLIMB, CLIMBED)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one block once it is full."""
        now = self._climb.passed(abs(point.value)) if math.isfinite(point.value) else None
        if now is None:
            return None
        return found(
            PROBLEM, CLIMBS, confidence=LIKELY, first=f"{self._climb.first:.2g}", value=f"{now:.2g}",
            step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    @property
    def over(self) -> bool:
        """Whether the climb has paused, or was told."""
        return self._climb.over

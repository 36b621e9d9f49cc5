"""Judges loss-zero-at-start (RLX8211), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Optional

from doctor.catalogue.columns import Stretch
from doctor.catalogue.courses import Course, Courses
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.rules import sighting
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem

#: steps from which zeros are no chance, and beyond which nobody asks about the start
FEWEST, MOST = 2, 100


#: what the Trainer prints once it has ended: of a run that came to its end nobody asks why its loss begins with 0
ENDED = "train_runtime"


@rule(PROBLEM, needs=("loss", "grad_norm", "reward", ENDED))
class LossZeroAtStart:
    """Counts the zeros; one other loss, or a gradient of 0, and there is nothing to say."""

    def __init__(self) -> None:
        self._losses = self._gradients = 0
        self._rewarded = self.over = False
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Take one value in."""
        if point.name == "loss":
            self._losses += 1
            self._last = point
            self.over = self.over or point.value != 0
        elif point.name == "grad_norm":
            self._gradients += 1
            self.over = self.over or not (0 < point.value < math.inf)
        else:
            self._rewarded = True
            self.over = self.over or point.name == ENDED
        return None

    def calm(self, stretch: Stretch) -> bool:
        """Skip rows once there is nothing to say, or where no loss is 0."""
        self.over = self.over or any(value != 0 for value in stretch["loss"].values)
        return self.over

    def finish(self) -> Optional[Finding]:
        """Say it at the end of a short log."""
        if self._last is None or self.over or not self._rewarded or not self._gradients:
            return None
        if not FEWEST <= self._losses <= MOST:
            return None
        return found(PROBLEM, TOML["main"], confidence=LIKELY, count=self._losses, **sighting(self._last))


#: beta of GRPO is 0.04 at most where it is set by anybody's defaults; the loss is that share of the KL
MOST_BETA = 0.1


def of_quoted(courses: Courses) -> Optional[Finding]:
    """A loss that a person quotes because it says nothing: it is beta times the KL, or the same number in all steps."""
    loss = courses.of.get("loss")
    if loss is None or not courses.excerpt or loss.count < FEWEST:
        return None
    return _is_kl_alone(courses, loss) or _is_constant(courses, loss)


def _is_kl_alone(courses: Courses, loss: Course) -> Optional[Finding]:
    """A loss that begins at 0 and stays a small share of a KL that grows, beside rewards that differ in groups."""
    kl, spread = courses.of.get("kl"), courses.of.get("reward_std")
    if kl is None or spread is None or not (loss.first == 0 <= loss.low and spread.mean > 0):
        return None
    if not (kl.last > 0 and kl.first < kl.last and loss.high <= MOST_BETA * kl.high):
        return None
    where = Where(file=loss.source, step=loss.last_step)
    return found(PROBLEM, TOML["share"], confidence=LIKELY, where=where, kl=f"{kl.last:.2g}", loss=f"{loss.last:.2g}")


def _is_constant(courses: Courses, loss: Course) -> Optional[Finding]:
    """A loss of one value in all steps whose gradient lives, beside a policy that is exactly the one that sampled."""
    norm, drift = courses.of.get("grad_norm"), courses.always("policy_drift", 0.0, 0.0)
    if norm is None or drift is None or not (loss.low == loss.high != 0 and 0 < norm.low <= norm.high < math.inf):
        return None
    where = Where(file=loss.source, step=loss.last_step)
    return found(PROBLEM, TOML["constant"], confidence=LIKELY, where=where, loss=f"{loss.last:g}", count=loss.count)

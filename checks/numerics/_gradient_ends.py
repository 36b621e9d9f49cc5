"""Rule of NUM016 about a gradient that ends while the loss lives on."""

from __future__ import annotations

import math
from typing import Optional

from doctor.base.history import History
from doctor.catalogue.columns import Stretch
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of("doctor.checks.numerics.nothing_trained")
PROBLEM = TOML.problem
ENDS = TOML["ends"]

#: a loss that is printed as at least this was not rounded to nothing
LIVING = 1e-3

#: logged steps without a gradient, how many of them must have a loss (where all answers of a step earn the same it has
#: none), and standard errors of a loss that falls, or a reward that rises, all the same: then the norm is misprinted
RUNNING, ALIVE, LEARNS = 20, 5, 4.0


@rule(PROBLEM, needs=("loss", "grad_norm", "reward"), symptom_of=("NUM005", "NUM006", "DSP017", "RLX011"))
class GradientEnds:
    """Looks for norms of exactly 0 behind others, in steps of which some have a loss.

    A loss that is differentiable and not 0 has no gradient of exactly 0 by chance, step after step.
    """

    def __init__(self) -> None:
        self._had = False  # a gradient
        self._loss = math.nan
        self._began: Optional[Point] = None
        self._count = self._living = 0
        self._losses, self._rewards = History(), History()
        self.over = False

    def update(self, point: Point) -> Optional[Finding]:
        """Take one figure in."""
        if self.over:
            return None
        if point.name == "loss":
            self._loss = point.value
            self._losses.push(point.value, point.step)
        elif point.name == "reward":
            self._rewards.push(point.value, point.step)
        elif point.value != 0:
            self._had = self._had or math.isfinite(point.value)
            self._forget()
        elif self._had:
            return self._without(point)
        return None

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that all have a gradient."""
        norms, losses = stretch["grad_norm"], stretch["loss"]
        if self.over:
            return True
        if self._began is not None or any(value == 0 for value in norms.values):
            return False
        self._had = self._had or any(math.isfinite(value) for value in norms.values)
        self._loss = losses.values[-1] if losses.values else self._loss
        self._forget()
        return True

    def _forget(self) -> None:
        self._began, self._count, self._living = None, 0, 0
        self._losses, self._rewards = History(), History()

    def _without(self, point: Point) -> Optional[Finding]:
        self._began, self._count = self._began or point, self._count + 1
        self._living += abs(self._loss) >= LIVING
        if self._count < RUNNING or self._living < ALIVE:
            return None
        self.over = True
        if self._learns():
            return None
        began = self._began.step
        return found(
            PROBLEM, ENDS, confidence=LIKELY, count=self._count, loss=f"{self._loss:.3g}", step=step_text(began),
            **sighting(point, began),
        )  # fmt: skip

    def _learns(self) -> bool:
        loss, reward = self._losses.slope(), self._rewards.slope()
        return (loss is not None and loss.sigmas < -LEARNS) or (reward is not None and reward.sigmas > LEARNS)

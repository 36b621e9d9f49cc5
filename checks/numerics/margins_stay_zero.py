"""Judges margins-stay-zero (NUM018), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.base.stats import Window
from doctor.catalogue.columns import Stretch
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.problem import WARNING
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
ITSELF, NO_BETA = TOML["itself"], TOML["no_beta"]
SAME = TOML["same"]
NO_TOKEN, ELSEWHERE, STANDS = TOML["no_token"], TOML["elsewhere"], TOML["stands"]


#: logged steps: a long warm-up in bf16 may lose the first updates
FIRST, WHOLE_RUN = 50, 10


@rule(PROBLEM, needs=("rewards/margins",), symptom_of=("NUM005", "NUM006", "NUM016", "RLX017", "DSP017"))
class MarginsStayZero:
    """Looks at the beginning only."""

    def __init__(self) -> None:
        self._count = 0
        self.over = False
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Count zeros until the first value that is none."""
        if self.over:
            return None
        if point.value != 0:
            self.over = True
            return None
        self._count += 1
        self._last = point
        return self._found(point) if self._count == FIRST else None

    def _found(self, point: Point) -> Finding:
        self.over = True
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, count=self._count, step=step_text(point.step), **sighting(point)
        )

    def finish(self) -> Optional[Finding]:
        """Judge a short run as a whole."""
        if self.over or self._last is None or self._count < WHOLE_RUN:
            return None
        return self._found(self._last)


_EVAL, _TRAIN = "eval_rewards/margins", "rewards/margins"


@rule(PROBLEM, needs=(_EVAL, _TRAIN))
class EvaluatedAgainstItself:
    """A margin of exactly 0 in an evaluation behind steps that have one: the reference there is the trained model."""

    def __init__(self) -> None:
        self._learnt = self.over = False
        self._zero: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Take margins of training in, and keep the first evaluation without any."""
        if self.over or not math.isfinite(point.value):
            return None
        if point.name == _TRAIN:
            self._learnt = self._learnt or point.value != 0
        elif point.value != 0:
            self.over = True  # an evaluation that is one
        elif self._learnt:
            self._zero = self._zero or point
        return None

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in without an evaluation."""
        if stretch[_EVAL].values:
            return False
        self._learnt = self._learnt or any(stretch[_TRAIN].values)
        return True

    def finish(self) -> Optional[Finding]:
        """Say so where no evaluation had a margin."""
        if self.over or self._zero is None:
            return None
        return found(PROBLEM, ITSELF, confidence=LIKELY, step=step_text(self._zero.step), **sighting(self._zero))


#: optimizer steps behind which a warm-up is over, logged values of the medians, the distance of a mean loss from ln 2,
#: and the margin: a twentieth of a nat at the usual beta of 0.1. Losses of DPO that learn are at 0.6 by then; one whose
#: reference followed the policy stayed at ln 2 for hundreds of steps: https://github.com/GMISWE/tinker-cloud/pull/16
LATE, LAST, NEAR_LN2, SMALL = 150, 10, 0.003, 0.005


@rule(PROBLEM, needs=("loss", _TRAIN), symptom_of=("RLX017", "NUM016"))
class LossStandsAtItsStart:
    """Margins near 0 and a loss at ln 2 long after the beginning: the policy does not leave its reference."""

    def __init__(self) -> None:
        self._losses, self._margins = Window(LAST), Window(LAST)
        self._low = math.inf
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Take one figure in."""
        if math.isfinite(point.value):
            if point.name == _TRAIN:
                self._margins.push(abs(point.value))
                self._last = point
            else:
                self._losses.push(point.value)
                self._low = min(self._low, point.value)
        return None

    def calm(self, stretch: Stretch) -> bool:
        """Take finite figures in: they are judged at the end."""
        losses, margins = stretch["loss"], stretch[_TRAIN]
        if not (losses.finite and margins.finite):
            return False
        self._losses.extend(losses.values)
        self._low = min(self._low, losses.low) if losses.values else self._low
        self._margins.extend([abs(each) for each in margins.values[-LAST:]])
        self._last = stretch.last(_TRAIN) if margins.values else self._last
        return True

    def finish(self) -> Optional[Finding]:
        """Judge the last values; margins of exactly 0 are told by themselves."""
        last = self._last
        if last is None or (last.step or 0) < LATE or min(len(self._losses), len(self._margins)) < LAST:
            return None
        margin = self._margins.median
        if not 0 < margin < SMALL or abs(self._losses.median - math.log(2)) > NEAR_LN2:
            return None
        if self._low < math.log(2) - 2 * NEAR_LN2:
            return None  # it had left
        return found(
            PROBLEM, STANDS, confidence=LIKELY, severity=WARNING, loss=f"{self._losses.median:.4f}",
            margin=f"{margin:.2g}", step=step_text(last.step), **sighting(last),
        )  # fmt: skip


_LOGPS = ("logps/chosen", "logps/rejected")


@rule(PROBLEM, needs=_LOGPS)
class NoTokenCounted:
    """Log probabilities of exactly 0: sums over no token, for each token of a text makes its sum smaller."""

    def __init__(self) -> None:
        self._count = 0
        self._names: set[str] = set()
        self.over = False
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Count zeros until the first value that is none."""
        if point.value != 0:
            self.over = True
        self._names.add(point.name)
        self._count += point.name == _LOGPS[0]
        self._last = point
        return None

    def finish(self) -> Optional[Finding]:
        """Say so where neither answer ever had a token."""
        if self.over or self._last is None or len(self._names) < len(_LOGPS):
            return None
        return found(PROBLEM, NO_TOKEN, confidence=LIKELY, count=self._count, **sighting(self._last))


_CHOSEN, _REJECTED = "rewards/chosen", "rewards/rejected"


def of_rehearsal(logged: Sequence[Mapping[str, Any]]) -> Optional[Finding]:
    """Steps of a rehearsal, unrounded, in which the model has left its reference equally far for both answers.

    Two texts that differ do not get equal log probabilities in every batch from a model with random weights.

    Args:
        logged: what the trainer logged, one mapping of names and numbers a step.

    """
    moved = [
        each
        for each in logged
        if _TRAIN in each and each.get(_CHOSEN) not in (None, 0) and math.isfinite(each[_CHOSEN])
    ]
    if not moved or any(each[_TRAIN] != 0 or each[_CHOSEN] != each.get(_REJECTED) for each in moved):
        return None
    return found(PROBLEM, SAME, confidence=LIKELY, value=f"{moved[0][_CHOSEN]:.3g}")


def of_loop(entry: Mapping[str, Any]) -> Finding:
    """Judge margins of a loop in a rehearsal that are exactly 0 behind a step, as its journal tells them."""
    evidence = (
        Observed.quoted("rehearsal", f"{entry['pairs']} margins of 0 behind {entry['steps']} steps with a rate"),
    )
    return found(PROBLEM, TOML["loop"], confidence=LIKELY, pairs=entry["pairs"], evidence=evidence)


#: a reward of a model that has just begun: 10 nats at the usual beta of 0.1; rounding makes a hundredth of that
_FAR = 1.0
#: epochs within which a warm-up has moved nothing yet
_BEGUN = 0.01


def of_courses(courses: Courses) -> Optional[Finding]:
    """What the quantities of preference training tell of themselves, the most certain first."""
    return _multiplied_by_zero(courses) or _begun_elsewhere(courses) or _own_reference(courses)


#: lines of an excerpt with other answers each, after which a policy that is updated has left its reference
_LINES = 3
_COPY = later(r"ref_model\s?=\s?(?:copy\.)?deepcopy\([^)\n]{1,60}\)")


def _own_reference(courses: Courses) -> Optional[Finding]:
    """Margins of exactly 0 over answers that differ from line to line: both sides of the ratio are one model."""
    margins, logps = courses.always(_TRAIN, 0.0, 0.0), courses.of.get("logps/chosen")
    if margins is None or logps is None or not courses.excerpt or margins.count < _LINES:
        return None
    if not logps.low < logps.high < 0:
        return None
    copied = _COPY.search(courses.words)
    where = Where(file=margins.source, step=margins.last_step)
    return found(
        PROBLEM, TOML["own_reference"], confidence=LIKELY, where=where, count=margins.count,
        copied=copied[0] if copied else "",
    )  # fmt: skip


def _multiplied_by_zero(courses: Courses) -> Optional[Finding]:
    """Margins of exactly 0 beside a beta of 0, by which they are multiplied: https://arxiv.org/abs/2305.18290 (7)."""
    margins = courses.always(_TRAIN, 0.0, 0.0)
    if margins is None or courses.number("beta") != 0:
        return None
    where = Where(file=margins.source, step=margins.last_step)
    return found(PROBLEM, NO_BETA, confidence=LIKELY, where=where, count=margins.count)


def _begun_elsewhere(courses: Courses) -> Optional[Finding]:
    """Rewards far above 0 in the first line of a run: policy and reference have not begun as one model.

    Losses without a reference (ORPO, CPO, SimPO) have log probabilities as rewards, which are below 0.
    """
    chosen, rejected, epoch = (courses.of.get(name) for name in (_CHOSEN, _REJECTED, "epoch"))
    if chosen is None or rejected is None or epoch is None or not 0 <= epoch.first <= _BEGUN:
        return None
    if not (math.isfinite(chosen.first) and min(chosen.first, rejected.first) > _FAR):
        return None
    return found(
        PROBLEM, ELSEWHERE, confidence=LIKELY, where=Where(file=chosen.source),
        chosen=f"{chosen.first:.3g}", rejected=f"{rejected.first:.3g}",
    )  # fmt: skip

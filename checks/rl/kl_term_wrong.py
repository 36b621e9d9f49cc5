"""Judges kl-term-wrong (RLX7581), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Optional

from doctor.base.stats import Window
from doctor.catalogue.columns import Stretch
from doctor.catalogue.finding import LIKELY, Finding, Message, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
NEGATIVE, LARGE, OWN, OTHER = TOML["negative"], TOML["large"], TOML["own"], TOML["other"]
BELOW = TOML["below"]


#: logged steps that are judged
STEPS = 20

#: pairs of loss and KL that are looked at: the coefficient is a setting, and stays what it is
JUDGED = 500

#: a KL below this says nothing about the coefficient: rounding and the policy's part of the loss are as large
LEAST_KL = 1e-3

#: how tightly loss / kl must stand around its median: only a loss that is beta times KL does that by itself
TIGHT = 0.1

#: no published recipe weighs KL by as much; advantages are of order 1, so that the term then outweighs the reward
#: from the first nat on (GRPO: 0.04, https://arxiv.org/abs/2402.03300; DAPO: 0, https://arxiv.org/abs/2503.14476)
TOO_LARGE = 1.0


#: what reinforcement learning logs beside its loss: a trainer that logs a loss and none of it distils from a teacher,
#: whose distance the KL is from the first step on (https://huggingface.co/docs/trl/gkd_trainer)
OF_RL = ("reward", "reward_std", "completions/mean_length", "critic/score/max", "critic/advantages/max")


@rule(PROBLEM, needs=("loss", "kl", *OF_RL))
class CoefficientOfKl:
    """Reads `beta` from the series: on-policy the policy's part of a loss has the mean 0, and beta * KL is left."""

    def __init__(self) -> None:
        self._loss: Optional[Point] = None
        self._ratios = Window(STEPS)
        self._left = JUDGED
        self._rewarded = False

    def update(self, point: Point) -> Optional[Finding]:
        """Take a loss in, or judge at the KL of the same step."""
        if not self._left:
            return None
        if point.name != "kl":
            self._rewarded = self._rewarded or point.name != "loss"
            self._loss = point if point.name == "loss" else self._loss
            return None
        loss, self._loss = self._loss, None
        if loss is None or loss.step != point.step or not point.value >= LEAST_KL or not math.isfinite(loss.value):
            return None
        self._left -= 1
        self._ratios.push(loss.value / point.value)
        beta = self._ratios.median
        message = self._message(beta) if self._ratios.full and self._rewarded else None
        if message is None or self._ratios.sigma() > TIGHT * abs(beta):
            return None
        self._left = 0
        return found(
            PROBLEM, message, confidence=LIKELY, beta=f"{beta:.2g}", kl=f"{point.value:.2g}",
            loss=f"{loss.value:.2g}", count=STEPS, step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    @staticmethod
    def _message(beta: float) -> Optional[Message]:
        return NEGATIVE if beta < 0 else LARGE if beta >= TOO_LARGE else None

    @property
    def over(self) -> bool:
        """Whether enough pairs were looked at, or it was told."""
        return not self._left

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that tell no KL."""
        self._rewarded = self._rewarded or any(stretch[name].values for name in OF_RL)
        return self._loss is None and not stretch["kl"].values


#: what rounding leaves of a KL between a policy and itself, in float32; and a gradient that moves weights
NOTHING, MOVES = 1e-9, 1e-4

#: values with more digits than three behind the point show that small ones are not rounded to 0 when printed
_DIGITS = 1000


@rule(
    PROBLEM, needs=("kl", "grad_norm", "learning_rate", "entropy"), symptom_of=("RLX017", "NUM016", "RLX008", "RLX010")
)
class ReferenceIsThePolicy:
    """A KL of exactly 0 while gradients move the weights: the reference moves with the policy."""

    def __init__(self) -> None:
        self._zeros = self._moved = 0
        self._fine = self.over = False
        self._rate = 1.0

    def update(self, point: Point) -> Optional[Finding]:
        """Count the steps at whose end the KL was 0."""
        name, value = point.name, point.value
        if self.over or not math.isfinite(value):
            return None
        self._fine = self._fine or 1e-6 < value * _DIGITS % 1.0 < 1 - 1e-6
        if name == "learning_rate":
            self._rate = value
        elif name == "grad_norm":
            self._moved += value > MOVES and self._rate > 0
        elif name == "kl":
            if abs(value) > NOTHING:
                self.over = True
                return None
            self._zeros += 1
            if self._zeros >= STEPS and self._moved >= STEPS - 1 and self._fine:
                self.over = True
                return found(
                    PROBLEM, OWN, confidence=LIKELY, count=self._zeros, step=step_text(point.step), **sighting(point)
                )
        return None


#: Before the first update policy and reference are the same weights, and what is left is arithmetic: log probabilities
#: of the same tokens that differ by d with mean 0 and standard deviation s. The mean of every estimator in use is then
#: s^2/2 or less (k1: d; k2: d^2/2; k3: exp(-d) - 1 + d; http://joschu.net/blog/kl-approx.html), and the mean over a
#: batch of n tokens scatters by s/sqrt(n) at most. In bf16 s is 0.05, whatever is compared: chunks of other sizes,
#: engines (https://github.com/huggingface/trl/issues/6789). Six times that is no precision any more: s = 0.3
WORST_PRECISION = 0.3
AT_START = WORST_PRECISION**2 / 2

#: The least of so many values must lie above the bound. A reference of other weights stays away, while a bad batch or a
#: figure that is smeared over steps comes alone: were one value in ten above it by chance, five running are one in 10^5
FIRST_VALUES = 5


#: where a log tells no steps, rows are counted from 1, and the epoch says whether that is so: the first row of a run is
#: as far from 0 as the next one from it. Printed epochs are rounded, older releases to two places; a single row is the
#: first only at epoch 0
ROUNDED, FINE = 0.02, 1e-4


@rule(PROBLEM, needs=("kl", "policy_drift", "epoch", "loss", *OF_RL), symptom_of=("RLX014",))
class ReferenceIsAnother:
    """A KL from the very first step on, before any update: the reference is not the model that training starts from."""

    def __init__(self) -> None:
        self.over = self._rewarded = self._lost = False
        self._drift: Optional[Point] = None
        self._first: Optional[Point] = None
        self._least, self._count = math.inf, 0
        self._epochs: list[float] = []

    def update(self, point: Point) -> Optional[Finding]:
        """Judge the first values only, and only where they begin at step 0 or 1."""
        if self.over:
            return None
        if point.name == "epoch":
            self._epochs = [*self._epochs, point.value][:2]
            self.over = len(self._epochs) > 1 and self._begins_later()
            return None
        if point.name == "policy_drift":
            self._drift = point if self._first is None else self._drift
            return None
        if point.name != "kl":
            self._lost = self._lost or point.name == "loss"
            self._rewarded = self._rewarded or point.name != "loss"
            return None
        if self._first is None:
            several = (
                self._drift is not None and self._drift.step == point.step and abs(self._drift.value) > AT_START / 5
            )
            self.over = point.step is None or point.step > 1 or several
            self._first = point
        self._count += 1
        self._least = min(self._least, point.value)
        if self.over or not AT_START < point.value < math.inf:
            self.over = True
            return None
        return self._found() if self._count == FIRST_VALUES else None

    def _begins_later(self) -> bool:
        """Whether the epochs of the first rows are not those of a run's beginning."""
        if len(self._epochs) < 2:
            return bool(self._epochs) and self._epochs[0] > ROUNDED
        fine = any(abs(each) < 1e6 and abs(100 * each - round(100 * each)) > FINE for each in self._epochs)
        return self._epochs[0] > 1.5 * (self._epochs[1] - self._epochs[0]) + (FINE if fine else ROUNDED)

    def _found(self) -> Optional[Finding]:
        self.over = True
        first = self._first
        distils = self._lost and not self._rewarded
        if first is None or distils or self._begins_later():
            return None
        return found(
            PROBLEM, OTHER, confidence=LIKELY, kl=f"{first.value:.2g}", step=step_text(first.step), **sighting(first)
        )

    def finish(self) -> Optional[Finding]:
        """Judge a run that is shorter: by twice the bound, for fewer values prove less."""
        return self._found() if not self.over and self._count and self._least > 2 * AT_START else None


#: The mean of log(policy / reference) over tokens that the policy sampled is a KL divergence, and none is below 0
#: (k1 of http://joschu.net/blog/kl-approx.html; k2 and k3 are not below 0 for any token). The mean over n tokens
#: scatters by s / sqrt(n), 0.03 with s = 1 and a batch of a thousand tokens: three times that, in the median of so many
#: logged steps, is no chance. Tokens of tools and searches in the mean made it so, and brought a run down
#: (https://github.com/PeterGriffinJin/Search-R1/pull/21)
BELOW_CHANCE, MEDIAN_OF, FEW = -0.1, 10, 3


@rule(PROBLEM, needs=("kl",))
class BelowZero:
    """The median of the last logged steps; all of a run that has but a few."""

    def __init__(self) -> None:
        self._recent = Window(MEDIAN_OF)
        self.over = False
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one value."""
        if self.over or not math.isfinite(point.value):
            return None
        self._recent.push(point.value)
        self._last = point
        return self._found() if self._recent.full and self._recent.median < BELOW_CHANCE else None

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose values are all far enough above."""
        values = stretch["kl"]
        if not values.finite or values.low < BELOW_CHANCE:
            return False
        self._recent.extend(values.values)
        self._last = stretch.last("kl") if values.values else self._last
        return True

    def _found(self) -> Optional[Finding]:
        point = self._last
        if point is None:
            return None
        self.over = True
        return found(
            PROBLEM, BELOW, confidence=LIKELY, kl=f"{point.value:.3g}", count=len(self._recent),
            step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    def finish(self) -> Optional[Finding]:
        """Judge a short run as a whole."""
        if self.over or not FEW <= len(self._recent) < MEDIAN_OF or not self._recent.median < BELOW_CHANCE:
            return None
        return self._found()

"""Rules of RLX015 about samples of older policies."""

from __future__ import annotations

import math
from typing import Optional

from doctor.base.stats import Alarm, Window
from doctor.catalogue.columns import Stretch
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.problem import WARNING
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of("doctor.checks.rl.sampling.importance_ratio_drift")
PROBLEM = TOML.problem
OLD, AHEAD, ONE, AGEING = TOML["old"], TOML["ahead"], TOML["one"], TOML["ageing"]

#: updates between sampling and learning from which a loss without clipping or correction is off-policy; the clip ratio
#: that says whether a loss clips, and the effective sample size that says whether the samples still count
OLD_BY, OLD_STEPS = 2.0, 10
_AGE, _CLIP, _ESS = "sampling/staleness/mean", "clip_ratio/region_mean", "rollout_corr/rollout_is_eff_sample_size"
_OLDEST, _VERSION = "sampling/staleness/max", "sampling/model_version"


@rule(PROBLEM, needs=(_AGE, _VERSION, _CLIP, _ESS), symptom_of=("RLX021",))
class SamplesOfOldPolicies:
    """Watches the age of the samples where the log shows that nothing bounds its effect: a clip ratio of exactly 0."""

    def __init__(self) -> None:
        self._ages = Window(OLD_STEPS)
        self._alarm = Alarm(1, calm=OLD_STEPS)
        self._unclipped = 0

    def update(self, point: Point) -> Optional[Finding]:
        """Take one figure in, or judge an age; Trinity tells the step whose weights sampled."""
        if not math.isfinite(point.value):
            return None
        if point.name == _CLIP:
            self._unclipped = self._unclipped + 1 if point.value == 0 else -(10**9)
            return None
        if point.name == _ESS:
            self._unclipped = -(10**9)  # a correction is at work, whose sample size is judged by itself
            return None
        if point.name == _VERSION and point.step is None:
            return None
        self._ages.push((point.step or 0) - point.value if point.name == _VERSION else point.value)
        bad = self._ages.full and self._ages.median >= OLD_BY and self._unclipped >= OLD_STEPS
        if not self._alarm.see(bad, point.step):
            return None
        return found(
            PROBLEM, OLD, confidence=LIKELY, age=f"{self._ages.median:.2g}", step=step_text(point.step),
            **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that tell no age."""
        clips, sizes = stretch[_CLIP], stretch[_ESS]
        if stretch[_AGE].values or stretch[_VERSION].values or not (clips.finite and sizes.finite):
            return False
        if sizes.values or clips.low < 0 or clips.high > 0:
            self._unclipped = -(10**9)
        else:
            self._unclipped += len(clips)
        return True


@rule(PROBLEM, needs=(_AGE, _OLDEST), symptom_of=("RLX021",))
class SamplesFromTheFuture:
    """A sample cannot be newer than the policy that learns from it: whoever counts versions began anew.

    A bound on the age is then none, for it lets the oldest samples in: https://github.com/radixark/miles/pull/2244
    """

    def __init__(self) -> None:
        self._alarm = Alarm(2, calm=OLD_STEPS)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one age; more than a version, for some count the one that is being made."""
        if not self._alarm.see(point.value < -1, point.step):
            return None
        return found(
            PROBLEM, AHEAD, confidence=LIKELY, metric=point.name, age=f"{point.value:.3g}", step=step_text(point.step),
            **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose ages are none below 0."""
        ages = [stretch[name] for name in (_AGE, _OLDEST) if stretch[name].values]
        if not all(each.finite and each.low >= 0 for each in ages):
            return False
        self._alarm.rest(sum(map(len, ages)))
        return True


#: blocks of so many logged steps whose mean ages all rise, and the last one's age. An age that something bounds rises
#: while the queue fills and then stands; a queue that only grows makes it rise to the end:
#: https://github.com/agentscope-ai/Trinity-RFT/pull/445
BLOCK, BLOCKS, MUCH_OLDER, RISES = 10, 5, 10.0, 1.1


@rule(PROBLEM, needs=(_AGE, _VERSION), symptom_of=("RLX021",))
class SamplesThatAge:
    """Samples are older in each block of steps than in the one before: they wait in a queue that nothing empties."""

    def __init__(self) -> None:
        self._block: list[float] = []
        self._means: list[float] = []
        self._alarm = Alarm(1, calm=BLOCKS)

    def update(self, point: Point) -> Optional[Finding]:
        """Take one age in, and judge at the end of a block."""
        if not math.isfinite(point.value) or (point.name == _VERSION and point.step is None):
            return None
        self._block.append((point.step or 0) - point.value if point.name == _VERSION else point.value)
        if len(self._block) < BLOCK:
            return None
        self._means = [*self._means, sum(self._block) / BLOCK][-BLOCKS:]
        self._block = []
        means = self._means
        rises = all(means[at] > RISES * means[at - 1] for at in range(1, len(means)))
        bad = len(means) == BLOCKS and rises and means[-1] >= MUCH_OLDER
        if not self._alarm.see(bad, point.step):
            return None
        return found(
            PROBLEM, AGEING, confidence=LIKELY, severity=WARNING, age=f"{means[-1]:.2g}", first=f"{means[0]:.2g}",
            count=BLOCK * BLOCKS, step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that tell no age."""
        return not (stretch[_AGE].values or stretch[_VERSION].values)


#: logged steps in which a mean ratio is exactly 1 beside samples of older policies. Two engines never agree in all
#: digits, and neither do two policies; rounded to a few decimals they may, so that another metric has to show four
ONE_STEPS = 20
_POLICY_RATIO, _FINE = "policy_ratio", 1e-3


@rule(
    PROBLEM,
    needs=(_POLICY_RATIO, _AGE, "grad_norm", "sampling/importance_*", "rollout_corr/*"),
    symptom_of=("RLX021",),
)
class RatioThatNeverMoves:
    """A ratio of exactly 1 though the samples are old: it compares the policy with itself, and corrects nothing."""

    def __init__(self) -> None:
        self._ages = Window(ONE_STEPS)
        self._ones, self._off, self._fine = 0, False, False

    def update(self, point: Point) -> Optional[Finding]:
        """Take one figure in, or judge a ratio."""
        if self._off or not math.isfinite(point.value):
            return None
        if point.name == _AGE:
            self._ages.push(point.value)
        elif point.name == "grad_norm":
            self._fine = self._fine or abs(point.value - round(point.value, 3)) > _FINE / 100
        elif point.name != _POLICY_RATIO or point.value != 1:
            self._off = True  # it moves, or another one corrects
        else:
            self._ones += 1
            if self._ones >= ONE_STEPS and self._fine and self._ages.full and self._ages.low >= 1:
                old = self._ages.median >= OLD_BY
                self._off = old
                return self._found(point) if old else None
        return None

    def _found(self, point: Point) -> Finding:
        return found(
            PROBLEM, ONE, confidence=LIKELY, age=f"{self._ages.median:.2g}", count=self._ones,
            step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that tell of no such ratio, or are not asked about any more."""
        return self._off or not (self._ones or stretch[_POLICY_RATIO].values or stretch[_AGE].values)

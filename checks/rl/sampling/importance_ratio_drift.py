"""Judges importance-ratio-drift (RLX015), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple, Optional

from doctor.base.stats import Alarm, Baseline, Window
from doctor.catalogue.columns import Stretch
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
LEVEL, OLD, SUMMED, AHEAD = TOML["level"], TOML["old"], TOML["summed"], TOML["ahead"]
AT_ONCE, SPIKES, ONE, CLIMBS = TOML["at_once"], TOML["spikes"], TOML["one"], TOML["climbs"]


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


class Bounds(NamedTuple):
    """Between which values a metric of the gap between sampler and learner lies in a run that is well."""

    low: float
    high: float


_ANY = math.inf
_CORR = "rollout_corr/"
#: bounds as the frameworks' own documentation gives them, each for the median of `LEVEL_STEPS` logged steps:
#: - veRL warns beyond these values of the rollout correction, docs/algo/rollout_corr.md (up to 0.6 called `mismatch/`):
#:   https://github.com/verl-project/verl/blob/main/docs/algo/rollout_corr.md
#: - NeMo-RL calls a model broken whose mean exp|difference of log probabilities| is above 1.05:
#:   https://docs.nvidia.com/nemo/rl/latest/adding-new-models.html
#: - log probabilities differ by 0.01 to 0.02 in runs that are well (SkyRL gates its CI at 0.0104 to 0.05), and by 0.1
#:   where the engine has other weights: https://github.com/vllm-project/vime/issues/94
#: - KL between both: prime-rl and tinker-cookbook call below 0.01 well, the estimators of NeMo-RL, slime and AReaL are
#:   of the same size, and 0.23 was a bug: https://github.com/PrimeIntellect-ai/prime-rl/pull/2346
#: - probabilities of the same tokens differ by 0.005 where all is well (0.004 for experts in bf16,
#:   https://github.com/verl-project/verl-omni/issues/637), above 0.01 a precision is wrong, says veRL's FAQ
#:   (https://verl.readthedocs.io/en/latest/faq/faq.html): the bound is three times the first
#: - they correlate by 0.998 then, by "0.9x" with a head in another precision (https://arxiv.org/abs/2506.13585), by 0.6
#:   with experts that are not replayed (https://github.com/verl-project/verl/issues/5392)
#: TRL's own mean ratio has no such bounds: a ratio per sequence is far below 1 for long answers, whatever is well
LEVELS = {
    _CORR + "rollout_is_mean": Bounds(0.5, 2.0),
    _CORR + "rollout_is_eff_sample_size": Bounds(0.3, _ANY),
    _CORR + "rollout_is_std": Bounds(-_ANY, 1.0),
    _CORR + "rollout_is_veto_fraction": Bounds(-_ANY, 0.1),
    _CORR + "kl": Bounds(-0.1, 0.1),
    _CORR + "chi2_token": Bounds(-_ANY, 1.0),
    "sampling/probs_difference/mean": Bounds(-_ANY, 0.015),
    "training/rollout_actor_probs_pearson_corr": Bounds(0.95, _ANY),
    "sampling/sampling_logp_difference/mean": Bounds(-_ANY, 0.1),
    "sampling/probability_error": Bounds(-_ANY, 1.05),
}
LEVEL_STEPS = 5


@rule(PROBLEM, needs=tuple(LEVELS), symptom_of=("RLX014", "RLX021"))
class SamplerAgainstLearner:
    """Judges levels, so that what is wrong from the first step on is seen, too."""

    def __init__(self) -> None:
        self._recent: dict[str, Window] = {}
        self._last: dict[str, Point] = {}
        self._alarm = Alarm(1, calm=LEVEL_STEPS * len(LEVELS))

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one figure."""
        if not math.isfinite(point.value):
            return None
        recent = self._recent.setdefault(point.name, Window(LEVEL_STEPS))
        recent.push(point.value)
        self._last[point.name] = point
        low, high = LEVELS[point.name]
        if not recent.full or not self._alarm.see(not low <= recent.median <= high, point.step):
            return None
        return self._found(point, recent)

    @staticmethod
    def _found(point: Point, recent: Window) -> Finding:
        low, high = LEVELS[point.name]
        median = recent.median
        bound = low if median < low else high
        return found(
            PROBLEM, LEVEL, confidence=LIKELY, metric=point.name, value=f"{median:.3g}", bound=f"{bound:g}",
            count=len(recent), step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    def finish(self) -> Optional[Finding]:
        """Judge a run, or a piece of a log, that ended before a window was full: a bound holds for each value."""
        for name, recent in self._recent.items():
            low, high = LEVELS[name]
            if not recent.full and not self._alarm.on and not low <= recent.median <= high:
                return self._found(self._last[name], recent)
        return None

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose figures all lie within the bounds."""
        for name, column in stretch.columns.items():
            if name not in LEVELS:
                continue
            recent, (low, high) = self._recent.get(name), LEVELS[name]
            if recent is None or not recent.full or not column.finite:
                return False
            if min(column.low, recent.low) < low or max(column.high, recent.high) > high:
                return False
        for name, column in stretch.columns.items():
            if name in LEVELS:
                self._recent[name].extend(column.values)
                self._alarm.rest(len(column))
        return True


#: updates between sampling and learning from which a loss without clipping or correction is off-policy; the clip ratio
#: that says whether a loss clips, and the effective sample size that says whether the samples still count
OLD_BY, OLD_STEPS = 2.0, 10
_AGE, _CLIP, _ESS = "sampling/staleness/mean", "clip_ratio/region_mean", _CORR + "rollout_is_eff_sample_size"
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
        self._settled = False
        self._first: Optional[Point] = None
        self._count, self._least = 0, math.inf

    def update(self, point: Point) -> Optional[Finding]:
        """Judge the first values only, and only where they begin at step 0 or 1."""
        if self._settled:
            return None
        if self._first is None:
            self._settled = point.step is None or point.step > 1
            self._first = point
        self._count += 1
        self._least = min(self._least, abs(point.value))
        if self._settled or not AT_START < abs(point.value) < math.inf:
            self._settled = True
            return None
        return self._found() if self._count == FIRST_VALUES else None

    def _found(self) -> Optional[Finding]:
        self._settled = True
        first = self._first
        if first is None:
            return None
        return found(
            PROBLEM, AT_ONCE, confidence=LIKELY, value=f"{first.value:.2g}", step=step_text(first.step),
            **sighting(first),
        )  # fmt: skip

    def finish(self) -> Optional[Finding]:
        """Judge a run that is shorter: by twice the bound, for fewer values prove less."""
        return self._found() if not self._settled and self._count and self._least > 2 * AT_START else None

    def calm(self, _stretch: Stretch) -> bool:
        """Take every row in once the beginning is over."""
        return self._settled


#: KL between sampler and learner at the first steps, when no sample is old yet: twice the 0.01 that prime-rl and
#: tinker-cookbook call well. It stands for s = 0.2, ten times what kernels leave in bf16. A 4B model with 0.03 at step
#: 0, and a sampler of gpt-oss with 0.05 that came to 0.1 in 20 steps, were reported as faults:
#: https://github.com/PrimeIntellect-ai/prime-rl/issues/2671
#: https://github.com/thinking-machines-lab/tinker-feedback/issues/22
KL_AT_START = 0.02


@rule(PROBLEM, needs=(_CORR + "kl",), symptom_of=("RLX014", "RLX021"))
class SamplerFarFromTheFirstStep:
    """A KL between both sides that is high from the first step on, and below the bound of every step."""

    def __init__(self) -> None:
        self._settled = False
        self._first = Window(FIRST_VALUES)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge the first values only, and only where they begin at step 0 or 1."""
        if self._settled:
            return None
        late = not self._first and (point.step is None or point.step > 1)
        if late or not KL_AT_START < abs(point.value) < LEVELS[_CORR + "kl"].high:
            self._settled = True
            return None
        self._first.push(abs(point.value))
        if not self._first.full:
            return None
        self._settled = True
        return found(
            PROBLEM, LEVEL, confidence=LIKELY, metric=point.name, value=f"{self._first.median:.3g}",
            bound=f"{KL_AT_START:g}", count=len(self._first), step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    def calm(self, _stretch: Stretch) -> bool:
        """Take every row in once the beginning is over."""
        return self._settled


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


#: a policy is this far from itself in a spike, and this many times what is usual; updates of one batch move it by 0.001
#: and less where they are well (`AT_START`). Four within 200 steps do not come by chance: turns that are encoded again
#: from text (https://github.com/rllm-org/rllm/pull/272), log probabilities of a policy that has been updated meanwhile
#: (https://github.com/Alibaba-Quark/SSP/pull/13)
SPIKE, BEYOND, SPIKES_NEEDED, WITHIN, USUAL = 0.1, 50.0, 4, 200, 31


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
        if len(self._usual) >= LEVEL_STEPS and value > max(SPIKE, BEYOND * self._usual.median):
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
class DriftClimbs:
    """Each block of steps finds the policy further from the one that made the samples, which stays behind."""

    def __init__(self) -> None:
        self._block = Window(BLOCK)
        self._count = self._risen = 0
        self._first, self._last = 0.0, -math.inf

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one block once it is full."""
        if self._risen < 0 or not math.isfinite(point.value):
            return None
        self._block.push(abs(point.value))
        self._count += 1
        if self._count % BLOCK:
            return None
        now = self._block.median
        if now <= self._last:
            self._risen = -1
            return None
        self._first, self._last, self._risen = self._first or now, now, self._risen + 1
        if self._risen < BLOCKS or now < max(CLIMBED, CLIMB * self._first):
            return None
        self._risen = -1
        return found(
            PROBLEM, CLIMBS, confidence=LIKELY, first=f"{self._first:.2g}", value=f"{now:.2g}",
            step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    def calm(self, _stretch: Stretch) -> bool:
        """Take every row in once the climb has paused."""
        return self._risen < 0


#: logged steps in which a mean ratio is exactly 1 beside samples of older policies. Two engines never agree in all
#: digits, and neither do two policies; rounded to a few decimals they may, so that another metric has to show four
ONE_STEPS = 20
_POLICY_RATIO, _FINE = "policy_ratio", 1e-3


@rule(PROBLEM, needs=(_POLICY_RATIO, _AGE, "grad_norm", "sampling/importance_*", _CORR + "*"), symptom_of=("RLX021",))
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


def of_courses(courses: Courses) -> Optional[Finding]:
    """What settings say of a gap between sampler and learner, or of an age: the first law that is broken."""
    from doctor.checks.rl.sampling._laws import LAWS  # a guard carries the rules alone

    broken = next((each for law in LAWS if (each := law(courses)) is not None), None)
    if broken is None:
        return None
    where = Where(file=broken.course.source, step=broken.course.last_step)
    return found(PROBLEM, TOML[broken.message], confidence=LIKELY, where=where, **broken.values)

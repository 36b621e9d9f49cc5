"""Rules of RLX015 about the size of the gap between sampler and learner."""

from __future__ import annotations

import math
from typing import NamedTuple, Optional

from doctor.base.stats import Alarm, Window
from doctor.catalogue.columns import Stretch
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of("doctor.checks.rl.sampling.importance_ratio_drift")
PROBLEM = TOML.problem
LEVEL, PARTED = TOML["level"], TOML["parted"]


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
#: - weights of single tokens are cut at 2 (open-instruct, `truncated_importance_sampling_ratio_cap`), that is where log
#:   probabilities differ by ln 2: a share of 0.15 of them alone makes a mean difference of 0.1
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
    "sampling/truncated_share": Bounds(-_ANY, 0.15),
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
        recent = self._recent.get(point.name)
        if recent is None:
            recent = self._recent[point.name] = Window(LEVEL_STEPS)
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


#: KL between sampler and learner at the first steps, when no sample is old yet: twice the 0.01 that prime-rl and
#: tinker-cookbook call well. It stands for s = 0.2, ten times what kernels leave in bf16. A 4B model with 0.03 at step
#: 0, and a sampler of gpt-oss with 0.05 that came to 0.1 in 20 steps, were reported as faults:
#: https://github.com/PrimeIntellect-ai/prime-rl/issues/2671
#: https://github.com/thinking-machines-lab/tinker-feedback/issues/22
KL_AT_START, FIRST_VALUES = 0.02, 5


@rule(PROBLEM, needs=(_CORR + "kl",), symptom_of=("RLX014", "RLX021"))
class SamplerFarFromTheFirstStep:
    """A KL between both sides that is high from the first step on, and below the bound of every step."""

    def __init__(self) -> None:
        self.over = False
        self._first = Window(FIRST_VALUES)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge the first values only, and only where they begin at step 0 or 1."""
        if self.over:
            return None
        late = not self._first and (point.step is None or point.step > 1)
        if late or not KL_AT_START < abs(point.value) < LEVELS[_CORR + "kl"].high:
            self.over = True
            return None
        self._first.push(abs(point.value))
        if not self._first.full:
            return None
        self.over = True
        return found(
            PROBLEM, LEVEL, confidence=LIKELY, metric=point.name, value=f"{self._first.median:.3g}",
            bound=f"{KL_AT_START:g}", count=len(self._first), step=step_text(point.step), **sighting(point),
        )  # fmt: skip


#: Miles' diffusion trainer compares what both sides' models put out: exactly 0 where their kernels are the same, before
#: the first update and ever after. An adapter that one side had merged made it 0.04 from the second step on:
#: https://github.com/radixark/miles_diffusion/pull/129
_OUTPUTS, BEHIND = "sampling/output_difference/mean", 5


@rule(PROBLEM, needs=(_OUTPUTS,), symptom_of=("RLX021",))
class SidesPartWithTheFirstUpdate:
    """Outputs that are equal to the last bit at first, and never again: the kernels are the same, the weights not."""

    def __init__(self) -> None:
        self.over = False
        self._values: list[float] = []

    def update(self, point: Point) -> Optional[Finding]:
        """Judge the first values only."""
        if self.over:
            return None
        equal = point.value == 0
        if not math.isfinite(point.value) or equal == bool(self._values):
            self.over = True  # no equality at first, or equal again
            return None
        self._values.append(point.value)
        if len(self._values) <= BEHIND:
            return None
        self.over = True
        return found(
            PROBLEM, PARTED, confidence=LIKELY, metric=point.name, value=f"{self._values[-1]:.3g}", count=BEHIND,
            step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that tell no such figure."""
        return not stretch[_OUTPUTS].values

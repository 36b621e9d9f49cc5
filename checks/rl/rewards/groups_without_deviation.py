"""Judges groups-without-deviation (RLX010), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Optional

from doctor.base.history import History
from doctor.base.stats import Alarm, Window
from doctor.catalogue.columns import Stretch
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
ADVANTAGES = TOML["advantages"]
EASY, HARD, MOSTLY = TOML["easy"], TOML["hard"], TOML["mostly"]
BOUND, BEYOND, ONE_SIDED = TOML["bound"], TOML["beyond"], TOML["one_sided"]


#: logged steps running: small batches of hard prompts have some of them in every run
RUNNING = 20

#: logged steps that a whole run must have to be judged at its end
WHOLE_RUN = 3

#: rounding leaves gradients of this size where all advantages are zero
NO_GRADIENT = 1e-8


@rule(PROBLEM, needs=("reward_std", "frac_reward_zero_std", "grad_norm"), symptom_of=("RLX006", "RLX008", "RLX019"))
class GroupsWithoutDeviation:
    """Prefers the share of groups; `reward_std` of newer TRL is that of the whole batch."""

    def __init__(self) -> None:
        self._alarm = Alarm(RUNNING, calm=5)
        self._has_share = self._moved = self._stood = False
        self._rows = self._bad_rows = 0
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Take one figure in."""
        if point.name == "grad_norm":
            self._moved = self._moved or not point.value <= NO_GRADIENT
            self._stood = True
            return None
        if point.name == "frac_reward_zero_std":
            if not self._has_share:  # what `reward_std` of this first row said counts no more
                self._has_share, self._rows, self._bad_rows, self._alarm = True, 0, 0, Alarm(RUNNING, calm=5)
            bad = point.value >= 1
        elif self._has_share:
            return None
        else:
            bad = point.value == 0
        self._rows += 1
        self._bad_rows += bad
        self._last = point
        return self._found(point, RUNNING) if self._alarm.see(bad, point.step) else None

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that all deviate."""
        norms, shares, deviations = stretch["grad_norm"], stretch["frac_reward_zero_std"], stretch["reward_std"]
        name = "frac_reward_zero_std" if self._has_share else "reward_std"
        if (shares.values and not self._has_share) or not (norms.finite and shares.finite and deviations.finite):
            return False
        if shares.high >= 1 or (not self._has_share and deviations.low <= 0):
            return False
        self._moved = self._moved or norms.high > NO_GRADIENT
        self._stood = self._stood or bool(norms.values)
        count = len(stretch[name])
        self._rows += count
        self._alarm.rest(count)
        self._last = stretch.last(name) if count else self._last
        return True

    def _found(self, point: Point, count: int) -> Finding:
        began = self._alarm.since
        return found(PROBLEM, MESSAGE, confidence=LIKELY, count=count, step=step_text(began), **sighting(point, began))

    def finish(self) -> Optional[Finding]:
        """Judge a short run as a whole."""
        if self._alarm.on or self._moved or self._last is None:
            return None
        # the share of all groups and a gradient of 0 say the same of one step, each by itself
        least = 1 if self._has_share and self._stood else WHOLE_RUN
        return self._found(self._last, self._rows) if self._rows == self._bad_rows >= least else None


#: logged steps running of a whole batch without any advantage
NONE_RUNNING = 10
_HIGHEST, _LOWEST = "critic/advantages/max", "critic/advantages/min"


@rule(PROBLEM, needs=(_HIGHEST, _LOWEST), symptom_of=("RLX006", "RLX008", "RLX019"))
class AdvantagesAllZero:
    """veRL tells the largest and the smallest advantage of a batch; with a critic these are never both 0."""

    def __init__(self) -> None:
        self._alarm = Alarm(NONE_RUNNING, calm=5)
        self._highest: Optional[Point] = None
        self._rows, self._moved = 0, False
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Judge a step when its smallest advantage follows its largest."""
        if point.name == _HIGHEST:
            self._highest = point
            return None
        highest, self._highest = self._highest, None
        if highest is None or highest.step != point.step:
            return None
        self._rows, self._last = self._rows + 1, point
        self._moved = self._moved or not highest.value == 0 == point.value
        if not self._alarm.see(highest.value == 0 == point.value, point.step):
            return None
        return self._found(point, NONE_RUNNING)

    def _found(self, point: Point, count: int) -> Finding:
        began = self._alarm.since
        return found(
            PROBLEM, ADVANTAGES, confidence=LIKELY, count=count, step=step_text(began), **sighting(point, began)
        )

    def finish(self) -> Optional[Finding]:
        """Judge a short run as a whole."""
        if self._moved or self._alarm.on or self._last is None or self._rows < WHOLE_RUN:
            return None
        return self._found(self._last, self._rows)

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that all have some advantage."""
        highest, lowest = stretch[_HIGHEST], stretch[_LOWEST]
        if self._highest is not None or not (highest.finite and lowest.finite) or len(highest) != len(lowest):
            return False
        if len(highest) and (highest.low <= 0 or lowest.high >= 0):
            return False
        self._moved = self._moved or len(lowest) > 0
        self._alarm.rest(len(lowest))
        return True


#: share of groups without a signal, as the mean of that many logged steps. With two thirds of the rollouts wasted, a
#: third is left: each step has three times the variance, or costs three times the generation, of a batch that is used
WASTED, WASTED_STEPS = 2 / 3, 20

#: what the mean must be above by so many of its standard errors: of few groups a step the share scatters widely
SURELY, ERRORS = 0.6, 3.5

#: means of a reward between 0 and 1 from which prompts count as solved, or as not solved; between them both kinds are
SOLVED, UNSOLVED = 0.7, 0.3

#: what functions that look at the answer are called
_CONTENT = ("acc", "correct", "answer", "math", "solution", "verif", "exact", "equation", "result")


@lru_cache(maxsize=1024)
def _is_content(name: str) -> bool:
    """Whether a metric is the mean of a reward function that looks at the answer."""
    return name.startswith("rewards/") and not name.endswith("/std") and any(each in name.lower() for each in _CONTENT)


@rule(
    PROBLEM, needs=("frac_reward_zero_std", "reward", "rewards/*"), symptom_of=("RLX006", "RLX008", "RLX019", "RLX005")
)
class MostGroupsAlike:
    """Watches the mean of the share, and tells prompts that are too easy from those that are too hard."""

    def __init__(self) -> None:
        self._shares, self._rewards, self._contents = (Window(WASTED_STEPS) for _ in range(3))
        self._course = History()
        self._alarm = Alarm(1, calm=WASTED_STEPS)

    def update(self, point: Point) -> Optional[Finding]:
        """Take one figure in."""
        name, value = point.name, point.value
        if not math.isfinite(value):
            return None
        if name == "reward":
            self._rewards.push(value)
            self._course.push(value, point.step)
        elif name != "frac_reward_zero_std":
            if _is_content(name):
                self._contents.push(value)
        else:
            self._shares.push(value)
            if not self._shares.full:
                return None
            mean = self._shares.mean() if self._shares.high >= WASTED else 0.0
            bad = mean >= WASTED and mean - ERRORS * self._shares.error_of_mean() >= SURELY
            if self._alarm.see(bad, point.step) and self._shares.low < 1:
                return self._found(point, mean)
        return None

    def _found(self, point: Point, share: float) -> Finding:
        told = self._contents or self._rewards
        mean = told.median if told else math.nan
        line = self._course.slope()
        rose = line is not None and line.sigmas > 6
        message = MOSTLY
        if 0 <= mean <= UNSOLVED and not (rose and told is self._rewards):
            message = HARD
        elif SOLVED <= mean <= 1 or (rose and (told is self._rewards and mean > 1)):
            message = EASY
        return found(
            PROBLEM, message, confidence=LIKELY, share=f"{100 * share:.0f} %", mean=f"{mean:.2g}",
            times=f"{1 / max(1 - share, 0.01):.0f}", step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in where no share is that large."""
        shares, rewards = stretch["frac_reward_zero_std"], stretch["reward"]
        contents = [name for name in stretch.columns if _is_content(name)]
        judged = (shares, rewards, *(stretch[name] for name in contents))
        if any(not column.finite for column in judged) or max(shares.high, self._high()) >= WASTED:
            return False
        self._shares.extend(shares.values)
        self._alarm.rest(len(shares))
        self._rewards.extend(rewards.values)
        self._course.extend(rewards.values, rewards.steps)
        # of rows of one kind the last ones fill the window
        for point in stretch.points(contents, WASTED_STEPS if stretch.alike else None):
            self._contents.push(point.value)
        return True

    def _high(self) -> float:
        return self._shares.high if self._shares else 0.0


#: share of the way from the lowest to the highest reward of the batch; steps running. By Jensen's inequality at least
#: p^G + (1 - p)^G of the groups of G answers are all right or all wrong where p is the mean of a 0-1 reward, whatever
#: the prompts are: at 0.95 that is two thirds for groups of 8
OF_THE_WAY, BOUND_RUNNING = 0.95, 20
_MEAN, _MOST, _LEAST = "reward", "critic/score/max", "critic/score/min"


@rule(PROBLEM, needs=(_MEAN, _MOST, _LEAST), symptom_of=("RLX006", "RLX008", "RLX019"))
class RewardAtItsBound:
    """veRL tells mean, highest and lowest score of a batch, and no share of groups without deviation."""

    def __init__(self) -> None:
        self._now: dict[str, Point] = {}
        self._bounds: Optional[tuple[float, float]] = None
        self._alarm = Alarm(BOUND_RUNNING, calm=5)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge a step when its mean, highest and lowest score are told."""
        self._now[point.name] = point
        if len(self._now) < 3:
            return None
        told, self._now = self._now, {}
        if len({each.step for each in told.values()}) > 1:
            return None
        mean, most, least = (told[name].value for name in (_MEAN, _MOST, _LEAST))
        if not (math.isfinite(mean) and math.isfinite(most) and math.isfinite(least)):
            return None
        low, high = self._bounds = (
            (least, most) if self._bounds is None else (min(self._bounds[0], least), max(self._bounds[1], most))
        )
        way = (mean - low) / (high - low) if high > low else 0.5
        if not self._alarm.see(not 1 - OF_THE_WAY < way < OF_THE_WAY, point.step):
            return None
        began = self._alarm.since
        share = max(way, 1 - way) ** 8
        return found(
            PROBLEM, BOUND, confidence=LIKELY, mean=f"{mean:.3g}", low=f"{low:.3g}", high=f"{high:.3g}",
            share=f"{100 * share:.0f} %", count=BOUND_RUNNING, step=step_text(began), **sighting(point, began),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose mean stays clear of both bounds, wherever in the rows these move."""
        means, mosts, leasts = stretch[_MEAN], stretch[_MOST], stretch[_LEAST]
        if not (mosts.values or leasts.values or self._bounds or len(self._now) > 1):
            if means.values:
                self._now[_MEAN] = stretch.last(_MEAN)
            return True
        if self._now or self._bounds is None or not (means.finite and mosts.finite and leasts.finite):
            return False
        if not stretch.alike or not len(means) == len(mosts) == len(leasts) > 0:
            return False
        low, high = self._bounds
        lowest, highest = min(low, leasts.low), max(high, mosts.high)
        if not low < high:
            return False
        # the way falls as either bound rises, so the bounds before and behind these rows enclose it
        if (means.low - low) / (highest - low) <= 1 - OF_THE_WAY or (means.high - lowest) / (
            high - lowest
        ) >= OF_THE_WAY:
            return False
        self._bounds = (lowest, highest)
        self._alarm.rest(len(means))
        return True


#: An advantage that is divided by the deviation of its group of n is sqrt(n - 1) at most: one answer apart from n - 1
#: equal ones (Samuelson's inequality, https://en.wikipedia.org/wiki/Samuelson%27s_inequality). Ten times that is no
#: rounding; without a size, no group and no batch has the 10^8 answers that 10^4 takes
TIMES_BOUND, NEVER = 10.0, 1e4
_SIZES = (
    "num_generations", "num_generations_per_prompt", "actor_rollout_ref.rollout.n", "rollout.n", "n_samples_per_prompt",
    "group_size",
)  # fmt: skip
#: settings that leave rewards as they are, or whiten them over more than a group, so that sizes bound nothing
_OTHERWISE = ("scale_rewards", "norm_adv_by_std_in_grpo", "normalize_rewards", "grpo_std_normalization")
_WHITENED = ("gae", "reinforce_plus_plus", "reinforce", "reinforce_baseline")
#: what others call a baseline that leaves the answer itself out
_LEFT_OUT = ("use_leave_one_out_baseline", "leave_one_out_baseline")


def of_courses(courses: Courses) -> Optional[Finding]:
    """Advantages that no groups can have."""
    return _beyond(courses) or _one_sided(courses)


#: estimators that subtract the mean of a group, whatever they do then: https://arxiv.org/abs/2402.03300 and
#: https://arxiv.org/abs/2402.14740; and logged steps
_CENTRED, SEEN = ("grpo", "rloo", "dr_grpo", "gspo", "grpo_passk", "rloo_vectorized"), 3


def _one_sided(courses: Courses) -> Optional[Finding]:
    """No advantage below 0 beside some above, though the mean of its group is taken from each."""
    highest, lowest = courses.of.get(_HIGHEST), courses.of.get(_LOWEST)
    estimator = str(courses.settings.get("adv_estimator", courses.settings.get("advantage_estimator", ""))).lower()
    if highest is None or lowest is None or estimator not in _CENTRED or min(highest.count, lowest.count) < SEEN:
        return None
    if not (highest.low > 0 and lowest.low >= 0):
        return None
    return found(
        PROBLEM, ONE_SIDED, confidence=LIKELY, where=Where(file=highest.source, step=highest.last_step),
        low=f"{lowest.low:.3g}", high=f"{highest.high:.3g}", count=highest.count, estimator=estimator,
    )  # fmt: skip


def _beyond(courses: Courses) -> Optional[Finding]:
    """An advantage that no group of this size can have: its deviation was next to nothing."""
    told = [courses.of[name] for name in (_HIGHEST, _LOWEST) if name in courses.of]
    peak = max((abs(value) for each in told for value in (each.low, each.high) if math.isfinite(value)), default=0.0)
    size = courses.number(*_SIZES)
    whitened = courses.settings.get("adv_estimator", courses.settings.get("advantage_estimator")) in _WHITENED
    if whitened or any(courses.settings.get(name) in (False, "none") for name in _OTHERWISE):
        size = None
    bound = math.sqrt(size - 1) if size is not None and size > 1 else None
    if peak < (NEVER if bound is None else min(NEVER, TIMES_BOUND * bound)):
        return None
    return found(
        PROBLEM, BEYOND, confidence=LIKELY, where=Where(file=told[0].source, step=told[0].last_step),
        peak=f"{peak:.3g}", size=f"{size:g}" if bound else None, bound=f"{bound:.2g}" if bound else None,
        left_out=next((name for name in _LEFT_OUT if courses.settings.get(name) is True), None),
    )  # fmt: skip

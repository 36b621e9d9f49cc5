"""Judges entropy-collapse (RLX005), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Optional

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
ALIKE, AWAY = TOML["alike"], TOML["away"]
AT_ONCE, AT_ONCE_FAST = TOML["at_once"], TOML["at_once_fast"]


#: binary entropy of 99 % to 1 % is 0.056 nats
LOW = 0.05

#: a tenth of the beginning: a task with short, certain answers has low entropy all along and is well
SHARE = 0.1

#: steps of the baseline and of the median
STEPS = 20


#: where all answers are cut off and cut answers are masked, TRL logs the mean over no token: an entropy of exactly 0.
#: https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
_CUT = "completions/clipped_ratio"


@rule(PROBLEM, needs=("entropy", _CUT))
class EntropyCollapse:
    """Compares the median of the last steps with that of the first."""

    def __init__(self) -> None:
        self._all_cut = False
        self._base = Baseline(STEPS)
        self._recent = Window(STEPS)
        self._alarm = Alarm(1, calm=STEPS)

    def update(self, point: Point) -> Optional[Finding]:
        """Take a share of cut answers in, or judge an entropy."""
        if point.name == _CUT:
            self._all_cut = point.value == 1
            return None
        if self._all_cut and point.value == 0:
            return None
        if not math.isfinite(point.value) or not self._base.push(point.value):
            return None
        self._recent.push(point.value)
        usual = self._base.median
        if usual is None or not self._recent.full:
            return None
        median = self._recent.median
        if not self._alarm.see(median < min(LOW, SHARE * usual), point.step):
            return None
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, value=f"{median:.2g}", usual=f"{usual:.2g}",
            step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose entropy is nowhere low."""
        values, usual = stretch["entropy"], self._base.median
        if usual is None or not self._recent.full or not values.finite:
            return False
        if min(values.low, self._recent.low) < min(LOW, SHARE * usual):
            return False
        self._all_cut = stretch[_CUT].values[-1] == 1 if stretch[_CUT].values else self._all_cut
        self._recent.extend(values.values)
        self._alarm.rest(len(values))
        return True


#: nats with which a policy begins that has anything to lose, updates within which it is lost, logged values that say
#: so, and a rate above all in use (TRL's guide "LoRA without regret" goes to 5e-5). Policies that learn well lose about
#: three quarters of their entropy in their first 200 updates: https://arxiv.org/abs/2505.22617
BEGINS, UPDATES, LOST, FAST = 0.5, 10, 5, 1e-4


@rule(PROBLEM, needs=("entropy", _CUT, "learning_rate", "reward"), symptom_of=("NUM006",))
class EntropyGoneAtOnce:
    """Judges the first updates, which the baseline of the other rules would take for the usual.

    Only where rewards are told: demonstrations may be so alike that a model is certain of them at once.
    """

    def __init__(self) -> None:
        self._all_cut = False
        self._rate = self._first = 0.0
        self._low: list[Point] = []
        self._rows = 0
        self._rewarded = self.over = False

    def update(self, point: Point) -> Optional[Finding]:
        """Take a reward, a rate or a share of cut answers in, or judge an entropy."""
        if self.over or not math.isfinite(point.value):
            return None
        if point.name == "reward":
            self._rewarded = True
        elif point.name == _CUT:
            self._all_cut = point.value == 1
        elif point.name == "learning_rate":
            self._rate = max(self._rate, point.value)
        elif not (self._all_cut and point.value == 0):
            return self._judged(point)
        return None

    def _judged(self, point: Point) -> Optional[Finding]:
        self._rows += 1
        if self._rows == 1:
            self._first, self.over = point.value, point.value < BEGINS
            return None
        if point.value >= min(LOW, SHARE * self._first):
            self._low, self.over = [], self._update_of(point) >= UPDATES
            return None
        self._low.append(point)
        self.over = self._update_of(self._low[0]) > UPDATES or len(self._low) >= LOST
        if len(self._low) < LOST or not self._rewarded:
            return None
        fast, began = self._rate > FAST, self._low[0]
        return found(
            PROBLEM, AT_ONCE_FAST if fast else AT_ONCE, confidence=LIKELY, first=f"{self._first:.2g}",
            value=f"{began.value:.2g}", rate=f"{self._rate:.2g}", step=step_text(began.step),
            **sighting(point, began.step),
        )  # fmt: skip

    def _update_of(self, point: Point) -> int:
        """Which update it is; a step tells it, for one logged row may stand for many updates."""
        return self._rows if point.step is None else point.step


#: logged steps of a median; how many times the beginning it is, and nats at which a token is one of e^1.5 = 4.5 on
#: average, which no text is. Runs that are well stay below 1.4 times (tests/rules/runs), those that clip higher on
#: purpose double it while the reward rises (https://arxiv.org/abs/2503.14476), those that ran away made ten times and
#: more of it: https://github.com/marin-community/marin/issues/7784
AWAY_STEPS, TIMES, WIDE = 10, 3.0, 1.5

#: standard deviations of single steps by which a reward has risen
RISEN = 3.0


@rule(PROBLEM, needs=("entropy", "reward"), symptom_of=("RLX014", "RLX015", "NUM006"))
class EntropyRunsAway:
    """Compares the median of the last steps with that of the first, where the reward has not risen meanwhile."""

    def __init__(self) -> None:
        self._base, self._recent = Baseline(AWAY_STEPS), Window(AWAY_STEPS)
        self._reward, self._rewards = Baseline(AWAY_STEPS), Window(AWAY_STEPS)
        self._alarm = Alarm(AWAY_STEPS // 2, calm=AWAY_STEPS)

    def update(self, point: Point) -> Optional[Finding]:
        """Take a reward in, or judge an entropy."""
        if not math.isfinite(point.value):
            return None
        if point.name == "reward":
            if self._reward.push(point.value):
                self._rewards.push(point.value)
            return None
        if not self._base.push(point.value):
            return None
        self._recent.push(point.value)
        usual = self._base.median
        if usual is None or not self._recent.full or not self._rewards.full:
            return None
        bad = self._recent.median >= max(WIDE, TIMES * usual) and not self._has_risen()
        if not self._alarm.see(bad, point.step):
            return None
        return found(
            PROBLEM, AWAY, confidence=LIKELY, value=f"{self._recent.median:.2g}", usual=f"{usual:.2g}",
            among=f"{math.exp(min(self._recent.median, 20.0)):.0f}", step=step_text(point.step),
            **sighting(point, self._alarm.since),
        )  # fmt: skip

    def _has_risen(self) -> bool:
        before = self._reward.median
        return before is not None and self._rewards.median > before + RISEN * max(self._reward.sigma, 1e-9)

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose entropy is nowhere high."""
        entropies, rewards, usual = stretch["entropy"], stretch["reward"], self._base.median
        if usual is None or not (self._recent.full and self._rewards.full and entropies.finite and rewards.finite):
            return False
        if entropies.values and max(entropies.high, self._recent.high) >= max(WIDE, TIMES * usual):
            return False
        self._recent.extend(entropies.values)
        self._rewards.extend(rewards.values)
        self._alarm.rest(len(entropies))
        return True


#: nats of a whole answer below which a group is one answer, as the median of `STEPS` logged steps. Two samples of a
#: distribution with the entropy H are equal with a probability of at least exp(-H), for the collision entropy is never
#: above Shannon's: at 0.1 nine of ten pairs are, whatever the answers look like
ANSWER = 0.1


@rule(PROBLEM, needs=("entropy", "completions/mean_length", _CUT), symptom_of=("RLX019",))
class AnswersAllAlike:
    """Judges the entropy of whole answers in absolute terms, so that a policy without any from the start on is seen."""

    def __init__(self) -> None:
        self._all_cut = False
        self._length: Optional[float] = None
        self._recent = Window(STEPS)
        self._alarm = Alarm(1, calm=STEPS)

    def update(self, point: Point) -> Optional[Finding]:
        """Take a length or a share of cut answers in, or judge an entropy."""
        if point.name == _CUT:
            self._all_cut = point.value == 1
            return None
        if not math.isfinite(point.value) or (self._all_cut and point.name == "entropy" and point.value == 0):
            return None
        if point.name != "entropy":
            self._length = point.value
            return None
        if self._length is None:
            return None
        self._recent.push(point.value * max(self._length, 1.0))
        median = self._recent.median
        if not self._recent.full or not self._alarm.see(0 <= median < ANSWER, point.step):
            return None
        return found(
            PROBLEM, ALIKE, confidence=LIKELY, value=f"{median:.2g}", share=f"{100 * math.exp(-median):.0f} %",
            token=f"{point.value:.2g}", length=f"{self._length:.3g}", step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose answers are all uncertain enough, told by entropy and length in each row."""
        entropies, lengths = stretch["entropy"], stretch["completions/mean_length"]
        if not lengths.values and (self._length is None or not entropies.values):
            self._take_cut(stretch)
            return True  # nobody tells a length
        if not (stretch.alike and entropies.finite and lengths.finite and self._recent.full and lengths.values):
            return False
        if not entropies.values or min(entropies.low * max(lengths.low, 1.0), self._recent.low) < ANSWER:
            return False
        names = stretch.rows[0].names
        if names.index("completions/mean_length") > names.index("entropy"):
            before = [self._length or 1.0, *lengths.values[:-1]]
        else:
            before = list(lengths.values)
        self._recent.extend([one * max(two, 1.0) for one, two in zip(entropies.values, before)])  # noqa: B905 - Python 3.9
        self._length = lengths.values[-1]
        self._take_cut(stretch)
        self._alarm.rest(len(entropies))
        return True

    def _take_cut(self, stretch: Stretch) -> None:
        self._all_cut = stretch[_CUT].values[-1] == 1 if stretch[_CUT].values else self._all_cut


def of_quoted(courses: Courses) -> Optional[Finding]:
    """The same of a few lines that a person quotes."""
    course = courses.fell("entropy", SHARE)
    if course is None or course.last > LOW:
        return None
    return found(
        PROBLEM, MESSAGE, confidence=LIKELY, where=Where(file=course.source, step=course.last_step),
        value=f"{course.last:.2g}", usual=f"{course.first:.2g}", step=step_text(course.last_step),
    )  # fmt: skip

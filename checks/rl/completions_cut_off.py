"""Judges completions-cut-off (RLX011), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Optional

from doctor.base.history import History
from doctor.base.stats import Alarm, Baseline, Level, Window
from doctor.catalogue.columns import Stretch
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
MORE, SHORTER = TOML["more"], TOML["shorter"]
SHOWN, AT_ONCE, COSTS = TOML["shown"], TOML["at_once"], TOML["costs"]
MASKED = TOML["masked"]
#: what the limit is called
_LIMITS = (
    "max_completion_length",
    "max_response_length",
    "max_new_tokens",
    "rollout_max_response_len",
    "response_length",
)


#: share that counts as all, and logged steps of the median
SHARE, STEPS = 0.95, 20


#: a reward that rose by as much as its mean, far outside of its noise: cut answers are judged right all the same, as
#: where the answer is a code of four tokens and the limit is four
EARNS, SIGMAS = 1.0, 4.0


@rule(PROBLEM, needs=("completions/clipped_ratio", "reward"), symptom_of=("RLX005",))
class CompletionsCutOff:
    """Watches the median of the share; where the reward rises all the while the limit keeps nothing from learning."""

    def __init__(self) -> None:
        self._level = Level(SHARE, STEPS, reached=True)
        self._rewards = History()

    def update(self, point: Point) -> Optional[Finding]:
        """Take a reward in, or judge one share."""
        if not math.isfinite(point.value):
            return None
        if point.name == "reward":
            self._rewards.push(point.value, point.step)
            return None
        median = self._level.passed(point.value, point.step)
        if median is None or self._earns():
            return None
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, share=f"{100 * median:.0f} %", step=step_text(point.step),
            **sighting(point),
        )  # fmt: skip

    def _earns(self) -> bool:
        line = self._rewards.slope()
        return line is not None and line.sigmas >= SIGMAS and line.gain >= EARNS * abs(line.level)

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that tell no share, or whose shares are all small."""
        shares, rewards = stretch["completions/clipped_ratio"], stretch["reward"]
        if not rewards.finite:
            return False
        if shares.values and not (shares.finite and self._level.rest(shares.values, shares.high)):
            return False
        self._rewards.extend(rewards.values, rewards.steps)
        return True


#: a fifth of the answers: they have no end token and mostly no final answer, so the reward calls them wrong whatever
#: they say. Growth that counts (a deviation of 0.1 is that of 25 answers of which a few are cut), steps of the medians
FIFTH, RISEN, TIMES, MEDIAN_OF = 0.2, 0.1, 3.0, 15

#: what counts as shorter, or as less often
SHORTER_BY = 0.8


@rule(PROBLEM, needs=("completions/clipped_ratio", "completions/mean_length"))
class MoreCompletionsCutOff:
    """Compares share and length with the run's beginning."""

    def __init__(self) -> None:
        self._first, self._recent = Baseline(MEDIAN_OF), Window(MEDIAN_OF)
        self._first_length, self._length = Baseline(MEDIAN_OF), Window(MEDIAN_OF)
        self._alarm = Alarm(1, calm=MEDIAN_OF)

    def update(self, point: Point) -> Optional[Finding]:
        """Take a length in, or judge a share."""
        if not math.isfinite(point.value):
            return None
        if point.name == "completions/mean_length":
            if self._first_length.push(point.value):
                self._length.push(point.value)
            return None
        if not self._first.push(point.value):
            return None
        self._recent.push(point.value)
        first, now = self._first.median, self._recent.median
        if first is None or not self._recent.full:
            return None
        before = self._first_length.median
        risen = now - first >= RISEN and now >= TIMES * first
        # answers that grow shorter and are cut less often than before are on their way to what the reward asks for
        as_often = now >= SHORTER_BY * first
        shorter = before is not None and self._length.full and self._length.median < SHORTER_BY * before
        bad = FIFTH <= now < SHARE and (risen or (shorter and as_often))
        if not self._alarm.see(bad, point.step):
            return None
        length = self._length.median if self._length else math.nan
        judged = f"{point.name}: median of {MEDIAN_OF} steps {now:.3g}, at first {first:.3g}"
        return found(
            PROBLEM, MORE if risen else SHORTER, confidence=LIKELY, share=f"{100 * now:.0f} %",
            first=f"{100 * first:.0f} %", length=f"{length:.0f}", before=f"{before or math.nan:.0f}",
            step=step_text(point.step), **sighting(point, text=judged),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose shares are all small."""
        shares, lengths = stretch["completions/clipped_ratio"], stretch["completions/mean_length"]
        if not (self._recent.full and shares.finite and lengths.finite):
            return False
        if (lengths.values and not self._length.full) or max(shares.high, self._recent.high) >= FIFTH:
            return False
        self._recent.extend(shares.values)
        self._length.extend(lengths.values)
        self._alarm.rest(len(shares))
        return True


#: an engine or a policy that ended most answers, and ends none from one step to the next; steps that this must last
ENDED, RUNNING = 0.5, 5


@rule(PROBLEM, needs=("completions/clipped_ratio", "reward"), symptom_of=("NUM006", "NUM016", "RLX001"))
class NoneEndsAnyMore:
    """Share and reward break in one step, and stay where they are: https://github.com/Accio-Lab/Dressage/issues/1 ."""

    def __init__(self) -> None:
        self._share: Optional[float] = None
        self._reward: Optional[float] = None
        #: of the last step that was well: share and reward; steps since, and where the first of them stands
        self._before: Optional[tuple[float, float]] = None
        self._since = 0
        self._at: Optional[int] = None
        self._level = math.nan

    def update(self, point: Point) -> Optional[Finding]:
        """Judge a step once both have come, in whichever order."""
        if point.name == "reward":
            self._reward = point.value
        else:
            self._share = point.value
        if self._share is None or self._reward is None:
            return None
        share, reward, self._share, self._reward = self._share, self._reward, None, None
        if not (share >= SHARE and math.isfinite(reward)):
            self._before, self._since = ((share, reward) if share < ENDED and math.isfinite(reward) else None), 0
            return None
        before = self._before
        if before is None or reward >= before[1] or (self._since and reward != self._level):
            self._before = None
            return None
        if not self._since:
            self._at, self._level = point.step, reward
        self._since += 1
        if self._since != RUNNING:
            return None
        return found(
            PROBLEM, AT_ONCE, confidence=LIKELY, share=f"{100 * before[0]:.0f} %", before=f"{before[1]:.3g}",
            reward=f"{reward:.3g}", first=step_text(self._at), **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that tell no share, or of which each tells both and in none of which all are cut off."""
        shares, rewards = stretch["completions/clipped_ratio"], stretch["reward"]
        if not shares.values:
            return self._share is None and self._before is None
        if self._share is not None or self._reward is not None or len(shares.values) != len(rewards.values):
            return False
        if not (shares.finite and rewards.finite and shares.high < SHARE):
            return False
        last = shares.values[-1]
        self._before, self._since = ((last, rewards.values[-1]) if last < ENDED else None), 0
        return True


#: steps without any token that counts, their share of all steps, and logged steps from which on this is judged live
MASKED_STEPS, MASKED_SHARE, MASKED_OF = 5, 0.5, 10


@rule(PROBLEM, needs=("completions/clipped_ratio", "grad_norm", "entropy"))
class AllCutAreMasked:
    """Steps whose answers are all cut off, and in which nothing counts: entropy and gradient are exactly 0.

    A policy that is certain has a tiny entropy, and not one of exactly 0 in just these steps. With
    `mask_truncated_completions` the mean goes over no token:
    https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
    """

    def __init__(self) -> None:
        self._now: dict[str, float] = {}
        self._steps = self._cut = 0
        self.over = False
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Take a step in once all three have come, in whichever order."""
        self._now[point.name] = point.value
        if len(self._now) < 3:
            return None
        self._steps += 1
        if self._now["completions/clipped_ratio"] == 1:
            self._cut += 1
            self.over = self.over or self._now["entropy"] != 0 or self._now["grad_norm"] != 0
            self._last = point
        self._now = {}
        return self.finish() if self._steps >= MASKED_OF else None

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in none of which all are cut off."""
        shares = stretch["completions/clipped_ratio"]
        if not (shares.values or self._now):
            return True
        told = {len(shares), len(stretch["grad_norm"]), len(stretch["entropy"])}
        if self._now or not shares.finite or shares.high >= 1 or not (stretch.alike and len(told) == 1):
            return False
        self._steps += len(shares)
        return True

    def finish(self) -> Optional[Finding]:
        """Judge what has come in, once; a short run at its end."""
        if self.over or self._last is None or self._cut < max(MASKED_STEPS, MASKED_SHARE * self._steps):
            return None
        self.over = True  # it is told
        return found(
            PROBLEM, MASKED, confidence=LIKELY, count=self._cut, steps=self._steps, **sighting(self._last),
        )  # fmt: skip


def of_courses(courses: Courses) -> Optional[Finding]:
    """What the lines that a person quotes show of answers that are cut off; a short test of one's own has an end."""
    return _all_cut(courses) or _cut_as_the_reward_falls(courses)


#: values of an excerpt, the share of answers that is cut at its end, and how far the reward has then fallen
QUOTED, MANY, FALLEN = 4, 0.5, 0.8


def _cut_as_the_reward_falls(courses: Courses) -> Optional[Finding]:
    """A share that rises from line to line beside a reward that falls: the limit takes the points away.

    Where a policy that ended most answers ends none from one line to the next, it is broken, and no limit was reached.
    """
    share = courses.rose("completions/clipped_ratio", 1.0, MANY)
    reward = courses.fell("reward", FALLEN)
    if share is None or reward is None or share.count < QUOTED or not share.first + RISEN <= share.last <= 1:
        return None
    if share.last >= SHARE and share.leap > SHARE - ENDED:
        return None
    return found(
        PROBLEM, COSTS, confidence=LIKELY, where=Where(file=share.source, step=share.last_step),
        share=f"{100 * share.last:.0f} %", first=f"{100 * share.first:.0f} %", reward=f"{reward.last:.3g}",
        before=f"{reward.first:.3g}",
    )  # fmt: skip


#: nats of a policy that guesses: its answers have no end, whatever the limit is (NUM016)
GUESSES = math.log(10_000)


def _all_cut(courses: Courses) -> Optional[Finding]:
    if courses.always("entropy", GUESSES, math.inf) is not None:
        return None
    shares = courses.always("completions/clipped_ratio", SHARE, 1.0) if courses.excerpt else None
    if shares is None:
        return None
    limit = next((name for name in _LIMITS if courses.number(name) is not None), "")
    unrewarded = courses.always("reward", 0.0, 0.0) is not None
    if not limit and not unrewarded:
        return None  # a few steps of a test with a tiny model are cut, too
    return found(
        PROBLEM, SHOWN, confidence=LIKELY, where=Where(file=shares.source, step=shares.last_step),
        share=f"{100 * shares.low:.0f} %", count=shares.count,
        limit=f"{limit}={courses.number(limit):g}" if limit else "", name=limit or "max_completion_length",
        unrewarded=unrewarded,
    )  # fmt: skip

"""Judges completions-shrinking (RLX012), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Optional

from doctor.base.patterns import later
from doctor.base.stats import Alarm, Baseline, Window
from doctor.catalogue.columns import Stretch
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
SHRUNK = TOML["shrunk"]
EMPTY = TOML["empty"]
ANSWERS_EMPTY = TOML["answers_empty"]
CHARACTERS = TOML["characters"]
HALVED = TOML["halved"]


#: logged steps of the medians
STEPS = 10

#: fewer tokens than any reasoned answer has, and the share of the former length
SHORT, SHARE = 10.0, 0.1

#: the end token and half of the completions with one more
EMPTY_LENGTH = 1.5

#: share of empty answers, steps running, and steps that a whole run must have to be judged at its end
EMPTY_SHARE, EMPTY_RUNNING, WHOLE_RUN = 0.5, 5, 2

#: fewer characters than any reasoned answer has
FEW_CHARACTERS = 40.0


@rule(PROBLEM, needs=("completions/clipped_ratio", "completions/mean_length"))
class CompletionsShrinking:
    """Compares the median of the last steps with that of the first; a limit of one token is no silence."""

    def __init__(self) -> None:
        self._base = Baseline(STEPS)
        self._recent = Window(STEPS)
        self._alarm = Alarm(STEPS, calm=STEPS)
        self._cut_off = False

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one length."""
        if point.name == "completions/clipped_ratio":
            self._cut_off = point.value >= 0.5
            return None
        if not math.isfinite(point.value) or not self._base.push(point.value):
            return None
        self._recent.push(point.value)
        before = self._base.median
        if before is None or not self._recent.full:
            return None
        now = self._recent.median
        empty = now <= EMPTY_LENGTH and before <= EMPTY_LENGTH and not self._cut_off
        if not self._alarm.see(empty or now < min(SHORT, SHARE * before), point.step):
            return None
        return found(
            PROBLEM, EMPTY if empty else SHRUNK, confidence=LIKELY, before=f"{before:.0f}", now=f"{now:.2g}",
            step=step_text(point.step), **sighting(point, self._alarm.since),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose lengths are all long enough."""
        lengths, before = stretch["completions/mean_length"], self._base.median
        if before is None or not self._recent.full or not lengths.finite:
            return False
        shortest = min(lengths.low, self._recent.low)
        if shortest <= EMPTY_LENGTH or shortest < min(SHORT, SHARE * before):
            return False
        self._recent.extend(lengths.values)
        self._alarm.rest(len(lengths))
        for share in stretch["completions/clipped_ratio"].values[-1:]:
            self._cut_off = share >= 0.5
        return True


@rule(PROBLEM, needs=("completions/empty_ratio", "completions/mean_characters"))
class AnswersShrinking:
    """The same in rollouts that were kept, where answers are told in characters."""

    def __init__(self) -> None:
        self._base = Baseline(STEPS)
        self._recent = Window(STEPS)
        self._short = Alarm(STEPS, calm=STEPS)
        self._empty = Alarm(EMPTY_RUNNING, calm=EMPTY_RUNNING)
        self._rows = 0
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one figure."""
        if not math.isfinite(point.value):
            return None
        if point.name == "completions/empty_ratio":
            self._rows += 1
            self._last = point
            return self._of_empty(point) if self._empty.see(point.value >= EMPTY_SHARE, point.step) else None
        if not self._base.push(point.value):
            return None
        self._recent.push(point.value)
        before = self._base.median
        if before is None or not self._recent.full or self._empty.on:
            return None
        now = self._recent.median
        if not self._short.see(now < min(FEW_CHARACTERS, SHARE * before), point.step):
            return None
        return found(
            PROBLEM, CHARACTERS, confidence=LIKELY, before=f"{before:.0f}", now=f"{now:.2g}",
            step=step_text(point.step), **sighting(point, self._short.since),
        )  # fmt: skip

    def _of_empty(self, point: Point) -> Finding:
        began = self._empty.since
        return found(
            PROBLEM, ANSWERS_EMPTY, confidence=LIKELY, share=f"{100 * point.value:.0f} %", step=step_text(began),
            **sighting(point, began),
        )  # fmt: skip

    def finish(self) -> Optional[Finding]:
        """Judge a short run as a whole."""
        if self._empty.on or self._last is None or not WHOLE_RUN <= self._rows == self._empty.bad:
            return None
        return self._of_empty(self._last)


#: values of an excerpt in which every answer is shorter than the one before, and the share of the first that is left
QUOTED, HALF = 4, 0.5

#: settings of an objective that does not weigh an answer by its own length, where the setting says another one
_OBJECTIVES = {"loss_type": ("grpo",), "loss_agg_mode": ("seq-mean-token-mean",)}


def of_quoted(courses: Courses) -> Optional[Finding]:
    """Lengths that fall by half over the lines that a person quotes: by and by beside a reward, or all at once."""
    return _by_and_by(courses) or _at_once(courses)


#: what is left of lengths and of the time of a step where requests are broken off, in programs that sample meanwhile
BROKEN_OFF = 0.35
_MEANWHILE = later(r"one_step_off|fully_async|train_async|async_rl|\basync\b")


def _at_once(courses: Courses) -> Optional[Finding]:
    """Answers and steps that are short from the second line on, in a run whose engine samples while it is updated."""
    length, time = courses.fell("completions/mean_length", BROKEN_OFF), courses.fell("step_time", BROKEN_OFF)
    if length is None or time is None or _MEANWHILE.search(courses.words) is None:
        return None
    return found(
        PROBLEM, TOML["broken_off"], confidence=LIKELY, where=Where(file=length.source, step=length.last_step),
        before=f"{length.first:.0f}", now=f"{length.last:.0f}", count=length.count,
    )  # fmt: skip


def _by_and_by(courses: Courses) -> Optional[Finding]:
    """Lengths that fall beside a reward that does not."""
    length, reward = courses.fell("completions/mean_length", HALF), courses.of.get("reward")
    if length is None or reward is None or length.count < QUOTED or reward.last < reward.first:
        return None
    told = next((f"{name}={courses.settings[name]}" for name in _OBJECTIVES if name in courses.settings), "")
    name, _, value = told.partition("=")
    if told and value not in _OBJECTIVES[name]:
        told = ""
    return found(
        PROBLEM, HALVED, confidence=LIKELY, where=Where(file=length.source, step=length.last_step), told=told,
        before=f"{length.first:.0f}", now=f"{length.last:.0f}", reward=f"{reward.last:.3g}",
        count=length.count,
    )  # fmt: skip

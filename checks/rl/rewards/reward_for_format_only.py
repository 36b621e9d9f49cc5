"""Judges reward-for-format-only (RLX020), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Optional

from doctor.base.patterns import later
from doctor.base.stats import Alarm, Window
from doctor.catalogue.columns import NO_VALUES, Stretch
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
MAINLY, SHOWN = TOML["mainly"], TOML["shown"]


#: what functions that look at the form alone are called
FORM = later(r"format|xml|\btags?\b|_tags?\b|tag_count|structure|strict|soft_", re.IGNORECASE)

#: what functions that look at the answer are called; others may be 0 for good (a penalty that was never due)
CONTENT = later(r"acc|correct|answer|math|solution|verif|exact|equation|result", re.IGNORECASE)


@lru_cache(maxsize=256)
def _looks_at(name: str) -> str:
    """What a reward function looks at, by its name: "form", "content" or ""; asked at every step."""
    return "form" if FORM.search(name) else "content" if CONTENT.search(name) else ""


#: logged steps running, and steps of a whole run; a hard task can begin with zeros
RUNNING, WHOLE_RUN = 30, 10

#: functions watched; nobody has more
MOST_FUNCTIONS = 32


@rule(PROBLEM, needs=("rewards/*", "reward_std"), symptom_of=("RLX011",))
class RewardForFormatOnly:
    """Gathers the functions of a step and judges them when `reward_std`, which comes behind them, does."""

    def __init__(self) -> None:
        self._now: dict[str, float] = {}
        self._alarm = Alarm(RUNNING, calm=1)
        self._rows = 0
        self._last: Optional[Point] = None
        self._form = self._content = ""

    def update(self, point: Point) -> Optional[Finding]:
        """Take a function's mean in, or judge the step."""
        if point.name != "reward_std":
            name = _function(point.name)
            if name and len(self._now) < MOST_FUNCTIONS:
                self._now[name] = point.value
            return None
        functions, self._now = self._now, {}
        if not functions:
            return None
        self._rows += 1
        bad = self._form_alone(functions)
        self._last = point if bad else self._last
        return self._found(point) if self._alarm.see(bad, point.step) else None

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in where some function for the content always gives something, or none looks at it or the form."""
        names = list(stretch.columns)
        functions = [name for name in names if name.startswith("rewards/")]
        if not functions and not self._now:
            return True
        if not stretch.alike or self._now or len(functions) > MOST_FUNCTIONS or "reward_std" not in names:
            return False
        given: dict[str, str] = {}
        for name in functions:
            function, _, figure = name[len("rewards/") :].rpartition("/")
            if figure != "std":
                given[function or figure] = name
        content = [name for own, name in given.items() if not FORM.search(own) and CONTENT.search(own)]
        behind = names.index("reward_std") > max(map(names.index, functions))
        judged = content and any(map(FORM.search, given))
        if not behind or (judged and not any(0.0 not in stretch[name].values for name in content)):
            return False
        self._rows += len(stretch.rows)
        self._alarm.rest(len(stretch.rows))
        return True

    def _form_alone(self, functions: dict[str, float]) -> bool:
        earned, content = [], []
        for name, value in functions.items():
            looks_at = _looks_at(name)
            if looks_at == "content":
                if value != 0:
                    return False
                content.append(name)
            elif looks_at and value > 0:
                earned.append(name)
        if not earned or not content:
            return False
        self._form = ", ".join(f"`{name}`" for name in earned[:2])
        self._content = ", ".join(f"`{name}`" for name in content[:2])
        return True

    def _found(self, point: Point) -> Finding:
        began = self._alarm.since
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, form=self._form, content=self._content, count=self._alarm.bad,
            step=step_text(began), **sighting(point, began, f"{self._content} = 0 up to step {step_text(point.step)}"),
        )  # fmt: skip

    def finish(self) -> Optional[Finding]:
        """Judge a short run as a whole."""
        if self._alarm.on or self._last is None or not WHOLE_RUN <= self._rows == self._alarm.bad:
            return None
        return self._found(self._last)


#: what content pays beside what form pays; logged steps of the medians, and of a run that can be judged
TWENTIETH, HALF, MEDIAN_OF, JUDGED_FROM = 0.05, 0.5, 20, 60


@rule(PROBLEM, needs=("rewards/*", "reward"), symptom_of=("RLX011",))
class RewardMainlyForFormat:
    """Compares the medians of what functions for form and for content pay, once a run is old enough to have learnt."""

    def __init__(self) -> None:
        self._paid: dict[str, Window] = {}
        self._steps = 0
        self._alarm = Alarm(MEDIAN_OF, calm=MEDIAN_OF)

    def update(self, point: Point) -> Optional[Finding]:
        """Take a function's mean in, or judge the step."""
        if point.name != "reward":
            name = _function(point.name)
            if name and math.isfinite(point.value):
                paid = self._paid.get(name)
                if paid is None and len(self._paid) < MOST_FUNCTIONS:
                    paid = self._paid[name] = Window(MEDIAN_OF)
                if paid is not None:
                    paid.push(point.value)
            return None
        self._steps += 1
        if self._steps < JUDGED_FROM - MEDIAN_OF:
            return None
        form, content = self._medians("form"), self._medians("content")
        if not form or not content:
            return None
        most, least = max(form, key=form.__getitem__), max(content, key=content.__getitem__)
        bad = form[most] >= HALF and 0 < content[least] < TWENTIETH * form[most]
        if not self._alarm.see(bad, point.step):
            return None
        return found(
            PROBLEM, MAINLY, confidence=LIKELY, form=most, content=least, paid=f"{form[most]:.2g}",
            other=f"{content[least]:.2g}", step=step_text(point.step), **sighting(point, self._alarm.since),
        )  # fmt: skip

    def _medians(self, looks_at: str) -> dict[str, float]:
        return {name: each.median for name, each in self._paid.items() if each.full and _looks_at(name) == looks_at}

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in where some function for the content always pays enough, or none looks at it or the form."""
        told = {_function(name): name for name in stretch.columns if name.startswith("rewards/")}
        told = {own: name for own, name in told.items() if own}
        if not told and not self._paid:
            self._steps += len(stretch["reward"])
            return True
        paid = self._paid
        if not stretch.alike or not set(told) <= set(paid) or not all(each.full for each in paid.values()):
            return False
        columns = {own: stretch[told[own]] if own in told else NO_VALUES for own in paid}
        if not all(column.finite for column in columns.values()):
            return False
        form = [own for own in paid if FORM.search(own)]
        content = [own for own in paid if own not in form and CONTENT.search(own)]
        if form and content:
            most = max(max(columns[own].high, paid[own].high) for own in form)
            if not any(min(columns[own].low, paid[own].low) >= TWENTIETH * most for own in content):
                return False
        for own, column in columns.items():
            paid[own].extend(column.values)
        self._steps += len(stretch["reward"])
        if form and content:
            self._alarm.rest(len(stretch["reward"]))
        return True


@lru_cache(maxsize=256)
def _function(name: str) -> str:
    """The function of a metric `rewards/<function>/mean`; nothing for a deviation."""
    own, _, figure = name[len("rewards/") :].rpartition("/")
    return "" if figure == "std" else own or figure


def of_courses(courses: Courses) -> Optional[Finding]:
    """The same of a few lines that a person quotes: form is learnt, and content pays next to nothing in all of them."""
    named = {name: _given(name) for name in courses.of if _given(name)}
    rising = {name: own for name, own in named.items() if FORM.search(own) and courses.rose(name, 2.0, HALF)}
    if not rising:
        return None
    form, own_form = next(iter(rising.items()))
    paid = courses.of[form].last
    for name, own in named.items():
        course = courses.always(name, 0.0, TWENTIETH * paid)
        if course is not None and CONTENT.search(own) and not FORM.search(own):
            return found(
                PROBLEM, SHOWN, confidence=LIKELY, where=Where(file=course.source, step=course.last_step),
                form=own_form, content=own, paid=f"{paid:.2g}", other=f"{course.high:.2g}", count=course.count,
            )  # fmt: skip
    return None


def _given(name: str) -> str:
    return _function(name) if name.startswith("rewards/") else ""

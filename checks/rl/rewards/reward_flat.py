"""Judges reward-flat (RLX008), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from functools import partial
from typing import Optional

from doctor.base.history import History, Looks, Slope
from doctor.base.stats import Alarm
from doctor.catalogue.columns import Stretch
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
ZERO = TOML["zero"]
PLATEAU, COMPONENT, UNCOUNTED = TOML["plateau"], TOML["component"], TOML["uncounted"]


#: logged steps running; a hard task with a binary reward can begin with twenty zeros
RUNNING = 30

#: logged steps that a whole run must have to be judged at its end
WHOLE_RUN = 5


#: whether two rewards are the same but for rounding
_same = partial(math.isclose, rel_tol=1e-9, abs_tol=1e-12)


#: components watched; steps after which one that moves beside a total that stands says more than the total alone, share
#: of its size by which it has moved, and deviation within groups that is none (TRL adds 1e-4 to it before it divides)
MOST_COMPONENTS, BESIDE, MOVED, NONE = 32, 20, 1e-3, 1e-6


@rule(PROBLEM, needs=("rewards/*", "reward", "reward_std"), symptom_of=("RLX006",))
class ComponentDoesNotCount:
    """Finds the one reward function whose values move while the total has stood still since the first step.

    Where several move they may make up for each other; where one does, the total of a sum moves with it.
    """

    def __init__(self) -> None:
        self._ranges: dict[str, tuple[float, float]] = {}
        self._first: Optional[Point] = None
        self._last: Optional[Point] = None
        self._steps = 0
        self.over = False

    def update(self, point: Point) -> Optional[Finding]:
        """Take one figure in; a total that moves ends the watch."""
        if self.over or math.isnan(point.value):
            return None
        if point.name == "reward_std":
            self.over = point.value > NONE
        elif point.name != "reward":
            self._take(point.name[len("rewards/") :], point.value)
        elif self._first is not None and not _same(self._first.value, point.value):
            self.over = True
        else:
            self._first, self._last, self._steps = self._first or point, point, self._steps + 1
            return self._found(point) if self._steps == BESIDE else None
        return None

    def _take(self, name: str, value: float) -> None:
        if name.endswith("/std") or (name not in self._ranges and len(self._ranges) >= MOST_COMPONENTS):
            return
        low, high = self._ranges.get(name, (value, value))
        self._ranges[name] = (min(low, value), max(high, value))

    def _found(self, point: Point) -> Optional[Finding]:
        moved = [name for name, (low, high) in self._ranges.items() if high - low > MOVED * max(abs(low), abs(high))]
        if len(moved) != 1 or len(self._ranges) == 1:  # a single function is the total
            return None
        self.over = True
        low, high = self._ranges[moved[0]]
        began = self._first.step if self._first is not None else None
        return found(
            PROBLEM, UNCOUNTED, confidence=LIKELY, name=moved[0].removesuffix("/mean"), value=f"{point.value:g}",
            low=f"{low:.3g}", high=f"{high:.3g}", count=self._steps, **sighting(point, began),
        )  # fmt: skip

    def finish(self) -> Optional[Finding]:
        """Judge a short run as a whole."""
        if self.over or self._last is None or not WHOLE_RUN <= self._steps < BESIDE:
            return None
        return self._found(self._last)


@rule(PROBLEM, needs=("reward", "reward_std"), symptom_of=("RLX006", "RLX005"))
class RewardFlat:
    """Counts steps with the reward of the first of them; a deviation above zero begins the count anew."""

    def __init__(self) -> None:
        self._value: Optional[float] = None
        self._count = self._rows = 0
        self._alarm = Alarm(RUNNING, calm=1)
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Take a reward or a deviation in."""
        if point.name == "reward_std":
            if point.value > 0:
                self._count, self._value, self._alarm.bad, self._alarm.on = 0, None, 0, False
            return None
        self._rows += 1
        same = self._value is not None and _same(point.value, self._value)
        self._count = self._count + 1 if same else 1
        self._value, self._last = (None, point) if math.isnan(point.value) else (point.value, point)
        if not same:
            self._alarm.see(False, point.step)
        return self._found(point) if self._alarm.see(self._value is not None, point.step) else None

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that all deviate, or of which none has the reward of the one before."""
        rewards, deviations = stretch["reward"], stretch["reward_std"]
        if not rewards.values or not rewards.finite or self._alarm.bad >= RUNNING - 1 or self._alarm.on:
            return False
        if deviations.values:
            if not stretch.alike or not deviations.finite or deviations.low <= 0:
                return False
            self._count, self._value, self._alarm.bad = 0, None, 0
        else:
            before = [math.nan if self._value is None else self._value, *rewards.values]
            if any(map(_same, before, rewards.values)):
                return False
            self._value = before[-2] if len(rewards) > 1 else self._value
        self._rows += len(rewards) - 1
        for point in stretch.points(("reward", "reward_std"), rows=1) if stretch.alike else (stretch.last("reward"),):
            self.update(point)  # what the last row leaves behind is all that the next one is compared with
        return True

    def _found(self, point: Point) -> Finding:
        message = ZERO if point.value == 0 else MESSAGE
        began = self._alarm.since
        return found(
            PROBLEM, message, confidence=LIKELY, count=self._count, value=f"{point.value:g}", step=step_text(began),
            **sighting(point, began),
        )  # fmt: skip

    def finish(self) -> Optional[Finding]:
        """Judge a short run as a whole."""
        if self._alarm.on or self._last is None or self._rows < WHOLE_RUN or self._count < self._rows:
            return None
        return self._found(self._last)


#: steps on the plateau that are needed, what may have been gained there unseen beside the gain before it, and the share
#: of the run that it must be: a slow rise hides in a short piece of its end
LEAST, UNSEEN, OF_RUN = 40, 0.1, 0.4

#: share of that gain by which a quarter of the plateau may lie beside its mean: what falls again is no plateau
STRAY = 0.35

#: the gain before it in deviations of a single step: below it nothing rose that could have stopped
ROSE = 3.0


@rule(
    PROBLEM,
    needs=("reward",),
    symptom_of=("RLX006", "NUM008", "RLX014", "RLX015", "RLX009", "RLX010", "RLX005", "RLX004"),
)
class RewardPlateau:
    """Finds where the reward stopped rising, at looks that grow rarer; see `History.settled`.

    Whatever is known to stop a reward may be why, whenever it was told: a plateau is certain long after it began.
    """

    doctor_any_time = True

    def __init__(self) -> None:
        self._course = History()
        self._looks = Looks(2 * LEAST)
        self._told = False
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Take a reward in, and judge now and then."""
        self._course.push(point.value, point.step)
        self._last = point
        return self._found(point) if self._looks.due() and not self._told else None

    def calm(self, stretch: Stretch) -> bool:
        """Take rewards in where no look finds a plateau."""
        rewards = stretch["reward"]
        if not rewards.values or not rewards.finite:
            return False
        course, looks = self._course.copy(), self._looks.copy()
        at = 0
        while at < len(rewards):
            end = min(len(rewards), at + looks.left)
            course.extend(rewards.values[at:end], rewards.steps[at:end])
            if looks.due(end - at) and not self._told and _plateau(course):
                return False
            at = end
        self._course, self._looks, self._last = course, looks, stretch.last("reward")
        return True

    def _found(self, point: Point) -> Optional[Finding]:
        plateau = _plateau(self._course)
        if plateau is None:
            return None
        block, line, gain = plateau
        self._told = True
        began = self._course.step_of(block)
        return found(
            PROBLEM, PLATEAU, confidence=LIKELY, value=f"{line.level:.3g}", first=f"{line.level - gain:.3g}",
            began=step_text(began), count=line.values, share=f"{100 * line.values / self._course.count:.0f} %",
            step=step_text(point.step), **sighting(point, began),
        )  # fmt: skip

    def finish(self) -> Optional[Finding]:
        """Judge the whole run."""
        return None if self._told or self._last is None else self._found(self._last)


def _plateau(course: History) -> Optional[tuple[int, Slope, float]]:
    """The block from which on the reward stands, the line from there on, and the gain before; None without one.

    A reward that is constant to the last digit is not noise around a level: `RewardFlat` tells of it.
    """
    settled = course.settled(LEAST, UNSEEN, STRAY)
    if settled is None:
        return None
    _, line, gain = settled
    noise = course.sigma()
    return settled if noise > 0 and gain >= ROSE * noise and line.values >= OF_RUN * course.count else None


#: logged steps from the first one on in which a component has not changed
CONSTANT = 30


@rule(PROBLEM, needs=("rewards/*", "reward"), symptom_of=("RLX020", "RLX006"))
class RewardComponentConstant:
    """Finds a reward function that has given one value from the first step on, while the reward moves.

    0 may be a penalty that was never due, and 1 a form that every answer has: neither says that something is wrong.
    """

    def __init__(self) -> None:
        self._first: dict[str, float] = {}
        self._steps = 0
        self._low, self._high = math.inf, -math.inf
        self.over = False

    def update(self, point: Point) -> Optional[Finding]:
        """Take one figure in; what changes is watched no more."""
        if self.over or math.isnan(point.value):
            return None
        if point.name != "reward":
            name = point.name[len("rewards/") :]
            if name.endswith("/std"):
                return None
            if not self._steps and len(self._first) < MOST_COMPONENTS:
                self._first.setdefault(name, point.value)
            if name in self._first and not _same(self._first[name], point.value):
                del self._first[name]
            return None
        self._steps += 1
        self._low, self._high = min(self._low, point.value), max(self._high, point.value)
        if self._steps < CONSTANT:
            return None
        self.over = True
        constant = [(name, value) for name, value in self._first.items() if value not in (0.0, 1.0)]
        if not constant or _same(self._low, self._high):
            return None
        name, value = constant[0]
        name = name.removesuffix("/mean")
        return found(
            PROBLEM, COMPONENT, confidence=LIKELY, name=name, value=f"{value:g}", count=self._steps, **sighting(point)
        )

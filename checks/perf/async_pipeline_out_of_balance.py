"""Judges async-pipeline-out-of-balance (PRF1782), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Optional

from doctor.base.stats import Alarm, Baseline, Window
from doctor.catalogue.columns import Column, Stretch
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
UPDATES, DROPPED, QUEUE, STRAGGLERS = TOML["updates"], TOML["dropped"], TOML["queue"], TOML["stragglers"]

#: logged steps of the medians
STEPS = 10

#: share of a step that weights may take on their way, for without it a run were a quarter faster (1 / 0.8); and seconds
#: below which that is the overhead of a small model, not a time that anybody waits for
MOST_SHARE, LEAST_S = 0.2, 5.0

#: share of the generated samples that may be dropped: a tenth of the rollouts' GPU-hours is then lost, and it is the
#: long answers that are
MOST_DROPPED = 0.1

#: factor by which a queue must have grown, and samples that must wait at least
TIMES, LEAST_WAITING = 3.0, 8.0

#: medians that the slowest hundredth of the episodes takes, and the share of its time that the trainer waits meanwhile:
#: without the wait a long tail costs nothing
TAIL, IDLE = 5.0, 0.2

#: veRL's and slime's names of them are translated in `doctor/catalogue/series.py`
SENDING, STEP = "weights/update_time", "step_time"
LOST, MADE = "samples/dropped", "samples/generated"
LOST_SHARE, WAITING = "samples/dropped_share", "samples/waiting"
MEDIAN, SLOWEST, IDLING = "episodes/time_median", "episodes/time_p99", "trainer/idle_ratio"


@rule(PROBLEM, needs=(SENDING, STEP))
class WeightsOnTheirWay:
    """Compares the time of weight updates with that of the same step, whichever of the two is told first."""

    def __init__(self) -> None:
        self._now: dict[str, Point] = {}
        self._shares, self._seconds = Window(STEPS), Window(STEPS)
        self._alarm = Alarm(1, calm=STEPS)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge once both times of a step are there."""
        self._now[point.name] = point
        sending, whole = self._now.get(SENDING), self._now.get(STEP)
        if sending is None or whole is None or sending.step != whole.step:
            return None
        self._now = {}
        if not (math.isfinite(sending.value) and math.isfinite(whole.value) and whole.value > 0):
            return None
        self._shares.push(sending.value / whole.value)
        self._seconds.push(sending.value)
        bad = self._shares.full and self._shares.median > MOST_SHARE and self._seconds.median >= LEAST_S
        if not self._alarm.see(bad, point.step):
            return None
        return found(
            PROBLEM, UPDATES, confidence=LIKELY, share=f"{self._shares.median:.0%}",
            seconds=f"{self._seconds.median:.3g}", step=step_text(point.step), **sighting(sending),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that tell no weight update, or both times of each step, all fast or all as slow as was told."""
        sending, whole = stretch[SENDING], stretch[STEP]
        if not sending.values:
            return True
        if not (self._shares.full and _both(sending, whole)) or any(
            each.step in sending.steps for each in self._now.values()
        ):
            return False
        shares = [one / other for one, other in zip(sending.values, whole.values)]  # noqa: B905 - Python 3.9
        quick = max(self._shares.high, *shares) <= MOST_SHARE or max(self._seconds.high, sending.high) < LEAST_S
        slow = min(self._shares.low, *shares) > MOST_SHARE and min(self._seconds.low, sending.low) >= LEAST_S
        if not quick and not (slow and self._alarm.on):
            return False
        self._shares.extend(shares)
        self._seconds.extend(sending.values)
        self._now = {}
        if quick:
            self._alarm.rest(len(shares))
        else:
            self._alarm.persist(len(shares))
        return True


def _both(sending: Column, whole: Column) -> bool:
    """Whether both times of each step are told, once each, and can be compared."""
    steps = sending.steps
    rising = None not in steps and list(steps) == sorted(set(steps))  # type: ignore[type-var]
    return rising and steps == whole.steps and sending.finite and whole.finite and whole.low > 0


@rule(PROBLEM, needs=(LOST, MADE, LOST_SHARE))
class SamplesThrownAway:
    """Watches counts that grow (veRL tells both since the beginning), or a share where a framework gives one."""

    def __init__(self) -> None:
        self._lost: list[Point] = []
        self._made: Optional[Point] = None
        self._shares = Window(STEPS)
        self._alarm = Alarm(1, calm=STEPS)

    def update(self, point: Point) -> Optional[Finding]:
        """Take a count in, or judge."""
        if not math.isfinite(point.value):
            return None
        if point.name == LOST_SHARE:
            self._shares.push(point.value)
            return self._judged(self._shares.median if self._shares.full else 0.0, point)
        self._lost.append(point)
        mine = [each for each in self._lost if each.step == point.step]
        if len({each.name for each in mine}) < 2:
            return None
        return self._judged(self._since(mine), point)

    def _since(self, mine: list[Point]) -> float:
        """The share of the last logged steps; 0 as long as there are too few of them, or where counts began anew."""
        self._lost = self._lost[-2 * (STEPS + 1) :]
        first = [each for each in self._lost if each.step == self._lost[0].step]
        if len(self._lost) < 2 * (STEPS + 1) or len(first) < 2:
            return 0.0
        grown = {each.name: each.value for each in mine}
        for each in first:
            grown[each.name] -= each.value
        return grown[LOST] / grown[MADE] if grown[MADE] > 0 <= grown[LOST] else 0.0

    def _judged(self, share: float, point: Point) -> Optional[Finding]:
        if not self._alarm.see(share > MOST_DROPPED, point.step):
            return None
        return found(
            PROBLEM, DROPPED, confidence=LIKELY, share=f"{share:.0%}", step=step_text(point.step), **sighting(point)
        )

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that tell of no dropped sample."""
        return not (stretch[LOST].values or stretch[LOST_SHARE].values or stretch[MADE].values)


@rule(PROBLEM, needs=(WAITING,))
class QueueGrows:
    """Compares the queue of the last steps with that of the first, and asks that it still rises."""

    def __init__(self) -> None:
        self._first, self._recent = Baseline(STEPS), Window(STEPS)
        self._before = Window(STEPS)
        self._alarm = Alarm(1, calm=STEPS)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one length of the queue."""
        if not math.isfinite(point.value) or not self._first.push(point.value):
            return None
        left = self._recent.push(point.value)
        if left is not None:
            self._before.push(left)
        first = self._first.median
        if first is None or not self._before.full:
            return None
        now = self._recent.median
        bad = now >= LEAST_WAITING and now >= TIMES * first and now > self._before.median
        if not self._alarm.see(bad, point.step):
            return None
        return found(
            PROBLEM, QUEUE, confidence=LIKELY, first=f"{first:.3g}", value=f"{now:.3g}", step=step_text(point.step),
            **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that tell of no queue."""
        return not stretch[WAITING].values


@rule(PROBLEM, needs=(MEDIAN, SLOWEST, IDLING))
class EpisodesThatAllWaitFor:
    """Compares the slowest episodes of a step with its median where the trainer waits."""

    def __init__(self) -> None:
        self._now: dict[str, Point] = {}
        self._tails, self._idle = Window(STEPS), Window(STEPS)
        self._alarm = Alarm(1, calm=STEPS)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge once all three figures of a step are there."""
        self._now = {name: each for name, each in self._now.items() if each.step == point.step}
        self._now[point.name] = point
        if len(self._now) < 3:
            return None
        told, self._now = self._now, {}
        if not all(math.isfinite(each.value) for each in told.values()) or told[MEDIAN].value <= 0:
            return None
        self._tails.push(told[SLOWEST].value / told[MEDIAN].value)
        self._idle.push(told[IDLING].value)
        bad = self._tails.full and self._tails.median >= TAIL and self._idle.median >= IDLE
        if not self._alarm.see(bad, point.step):
            return None
        return found(
            PROBLEM, STRAGGLERS, confidence=LIKELY, times=f"{self._tails.median:.3g}", idle=f"{self._idle.median:.0%}",
            step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that tell of no episode's time."""
        return not stretch[SLOWEST].values

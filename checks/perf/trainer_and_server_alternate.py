"""Judges trainer-and-server-alternate (PRF010), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Any, Optional

from doctor.catalogue.columns import Stretch
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.problem import INFO
from doctor.catalogue.series import Point, rule
from doctor.catalogue.usage_rules import place
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
FROM_LOGS = TOML["from_logs"]
SIDES = TOML["sides"]


#: percent of activity that counts as working; share of overlap; turns; shortest share of either side
WORKING, MOST_OVERLAP, FEWEST_TURNS, LEAST_SHARE = 5.0, 0.2, 6, 0.1


class _Turns:
    """Counts the bins in which one side works, the other, or both."""

    def __init__(self) -> None:
        self._first: Optional[Point] = None
        self._both = self._only_first = self._only_second = self._bins = self._turns = 0
        self._side = ""
        self.last: Optional[Point] = None

    def see(self, point: Point, *, first: bool) -> None:
        """Pair a figure of the first side with the second's of the same bin."""
        if first:
            self._first = point
        elif self._first is not None and self._first.step == point.step:
            self._see(self._first.value >= WORKING, point.value >= WORKING)
            self.last = point

    def _see(self, first: bool, second: bool) -> None:
        self._bins += 1
        self._both += first and second
        self._only_first += first and not second
        self._only_second += second and not first
        side = "first" if first and not second else "second" if second and not first else self._side
        self._turns += bool(self._side) and side != self._side
        self._side = side

    def words(self) -> Optional[dict[str, Any]]:
        """Figures for the words, with the place; None where the two do not take turns."""
        active = self._both + self._only_first + self._only_second
        least = min(self._only_first, self._only_second)
        if not active or self.last is None or self._turns < FEWEST_TURNS:
            return None
        if self._both > MOST_OVERLAP * active or least < LEAST_SHARE * active:
            return None
        idle = [100 * (1 - (self._both + own) / self._bins) for own in (self._only_first, self._only_second)]
        text = f"{self._both} of {active} active bins with both at work, {self._turns} turns"
        return {
            "idle": idle, "both": f"{100 * self._both / active:.0f}", "turns": self._turns,
            "back": f"{50 * (active - self._both) / self._bins:.0f}", **place(self.last, text),
        }  # fmt: skip


@rule(PROBLEM, needs=("role/trainer/activity_pct", "role/server/activity_pct"))
class TrainerAndServerAlternate:
    """Pairs the activity of the trainer's GPUs with that of the server's."""

    def __init__(self) -> None:
        self._turns = _Turns()

    def update(self, point: Point) -> Optional[Finding]:
        """Take a figure of either side in."""
        self._turns.see(point, first=point.name.startswith("role/trainer"))
        return None

    def finish(self) -> Optional[Finding]:
        """Judge the whole run."""
        told = self._turns.words()
        if told is None:
            return None
        trainer, server = (f"{each:.0f}" for each in told.pop("idle"))
        return found(PROBLEM, MESSAGE, confidence=LIKELY, trainer=trainer, server=server, **told)


@rule(PROBLEM, needs=("sides/one/activity_pct", "sides/other/activity_pct", "sides/one/gpus", "sides/other/gpus"))
class SidesAlternate:
    """The same of two groups of GPUs whose roles nobody knows."""

    wants = ("gpus",)

    def __init__(self) -> None:
        self._turns = _Turns()
        self._gpus = {"one": 0, "other": 0}

    def update(self, point: Point) -> Optional[Finding]:
        """Take a figure of either side in."""
        _, side, figure = point.name.split("/")
        if not math.isfinite(point.value):
            return None
        if figure == "gpus":
            self._gpus[side] = int(point.value)
        else:
            self._turns.see(point, first=side == "one")
        return None

    def finish(self) -> Optional[Finding]:
        """Judge the whole run."""
        told = self._turns.words()
        if told is None:
            return None
        one, other = (f"{each:.0f}" for each in told.pop("idle"))
        return found(
            PROBLEM, SIDES, confidence=LIKELY, gpus=self._gpus["one"], others=self._gpus["other"], one=one, other=other,
            **told,
        )  # fmt: skip


#: the server tells its throughput every 10 s, and nothing from the second idle period on
#: https://github.com/vllm-project/vllm/blob/v0.11.0/vllm/v1/metrics/loggers.py
PERIOD_NS = 10 * 10**9

#: periods without a line that are a pause, pauses, and their share of the time, that are turns and not accidents
PAUSE, FEWEST_PAUSES, IDLE_SHARE = 3, 6, 0.4


@rule(PROBLEM, needs=("vllm/running", "loss", "beside/trainer_steps"))
class ServerWaitsForTrainer:
    """Adds up the pauses between the server's busy lines, where a trainer tells a loss in the same log or beside it."""

    wants = ("gpus", "roles")

    def __init__(self) -> None:
        self._busy: Optional[Point] = None
        self._seen_ns = self._idle_ns = self._pauses = 0
        self._trained = 0

    def update(self, point: Point) -> Optional[Finding]:
        """Take a line of either side in; one of the server counts where it carries a time and a request runs."""
        if point.name == "loss":
            self._trained += 1
        elif point.name != "vllm/running":
            self._trained += int(point.value) if math.isfinite(point.value) else 0
        elif point.value > 0 and point.t_ns is not None:
            self._see(point, point.t_ns)
        return None

    def calm(self, stretch: Stretch) -> bool:
        """Take the trainer's rows in, which only count, and the server's between them: all is judged at the end."""
        if stretch["beside/trainer_steps"].values:
            return False
        self._trained += len(stretch["loss"])
        if stretch["vllm/running"].values:
            for point in stretch.telling(("vllm/running",)).points(("vllm/running",)):
                self.update(point)
        return True

    def _see(self, point: Point, now: int) -> None:
        before = self._busy.t_ns if self._busy is not None else None
        self._busy = point
        if before is None or now <= before:
            return  # another server, or a clock that was put back: from here on time is counted anew
        self._seen_ns += now - before
        if now - before > PAUSE * PERIOD_NS:
            self._pauses += 1
            self._idle_ns += now - before - PERIOD_NS

    def finish(self) -> Optional[Finding]:
        """Judge the whole run."""
        last = self._busy
        if last is None or not self._seen_ns:
            return None
        share = self._idle_ns / self._seen_ns
        if self._trained < FEWEST_PAUSES or self._pauses < FEWEST_PAUSES or share < IDLE_SHARE:
            return None
        text = f"{self._pauses} pauses between throughput lines"
        return found(
            PROBLEM, FROM_LOGS, confidence=LIKELY, severity=INFO, idle=f"{100 * share:.0f}", turns=self._pauses,
            **place(last, text),
        )  # fmt: skip

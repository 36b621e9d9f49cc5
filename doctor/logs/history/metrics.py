"""The metrics of a run folder: the best value of the one that counts, and from which step on two runs depart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from doctor.base.record import record
from doctor.logs.metrics.files import MetricFileError, read_metrics_csv
from doctor.logs.metrics.steps import read_lines

#: metrics by which runs are told apart, the first that is there; whether more of it is better
_COUNTS = (("eval_reward", True), ("reward", True), ("eval_loss", False), ("loss", False))
#: what runs are compared by, beside what both have: figures that change with the machine's load say nothing
_OF_TIME = ("step_time", "time", "_per_second", "runtime", "num_tokens", "epoch", "step", "seconds", "throughput")
#: steps that both runs must have; steps in a row, and the share of all that follow, that must lie apart
_FEWEST, _IN_A_ROW, _STAYS = 3, 3, 0.8
#: typical changes from step to step that are no chance any more
_TIMES = 4.0
_LARGEST_LOG = 16 << 20

Series = Mapping[str, Mapping[int, float]]


@record
class Best:
    """The best value of a metric, and the step in which it was."""

    name: str
    value: float
    step: int

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        return {"name": self.name, "value": self.value, "step": self.step}


@record
class Divergence:
    """A metric that lies apart in two runs from `step` on: its values there, and the last ones of each."""

    name: str
    step: int
    old: float
    new: float
    last_old: float
    last_new: float

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        return {
            "name": self.name, "step": self.step, "old": self.old, "new": self.new, "last_old": self.last_old,
            "last_new": self.last_new,
        }  # fmt: skip


def series_of(path: Path) -> dict[str, dict[int, float]]:
    """Metric -> step -> value of a run folder: what the guard kept of the lowest rank, else what was printed."""
    found: dict[str, dict[int, float]] = {}
    files = sorted((path / "metrics").glob("rank*.csv"), key=lambda each: (len(each.name), each.name))
    for file in files[:1]:
        try:
            for row in read_metrics_csv(file):
                if row.step is not None:
                    for name, value in zip(row.names, row.values, strict=False):
                        found.setdefault(name, {})[row.step] = value
        except (OSError, ValueError, MetricFileError):
            continue
    return found or _of_log(path / "logs" / "console.log")


def _of_log(path: Path) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    try:
        if path.stat().st_size > _LARGEST_LOG:
            return {}
        with path.open("rb") as file:
            for point in read_lines(file, str(path)):
                if point.step is not None:
                    found.setdefault(point.name, {})[point.step] = point.value
    except OSError:
        return {}
    return found


def best_of(path: Path) -> Best | None:
    """The best value of the metric that counts most; None without one."""
    series = series_of(path)
    for name, more in _COUNTS:
        told = [(value, -step) for step, value in series.get(name, {}).items() if math.isfinite(value)]
        if told:
            value, step = max(told) if more else min((value, -at) for value, at in told)
            return Best(name, value, abs(step))
    return None


def departures(old: Series, new: Series) -> list[Divergence]:
    """Metrics of both runs that lie apart from a step on, the earliest first.

    The measure is how far each run moves from step to step in itself: two runs that are as far apart as that are alike.
    """
    found = []
    for name in old.keys() & new.keys():
        if not any(name == each or name.endswith(each) for each in _OF_TIME):
            step = _departs(old[name], new[name])
            if step is not None:
                found.append(Divergence(
                    name, step, old[name][step], new[name][step], old[name][max(old[name])], new[name][max(new[name])],
                ))  # fmt: skip
    return sorted(found, key=lambda each: (each.step, each.name))


def _departs(old: Mapping[int, float], new: Mapping[int, float]) -> int | None:
    """The first step from which on the two stay apart; None where they do not, or too little is known."""
    steps = sorted(old.keys() & new.keys())
    if len(steps) < _FEWEST:
        return None
    usual = max(_usual([old[step] for step in steps]), _usual([new[step] for step in steps]))
    apart = [_is_apart(old[step], new[step], usual) for step in steps]
    for at in range(len(steps)):
        rest = apart[at:]
        if all(rest[:_IN_A_ROW]) and sum(rest) >= _STAYS * len(rest):
            return steps[at]
    return None


def _is_apart(old: float, new: float, usual: float) -> bool:
    if math.isfinite(old) != math.isfinite(new):
        return True
    return math.isfinite(old) and abs(new - old) > max(_TIMES * usual, 1e-6 * max(abs(old), abs(new)))


def _usual(values: Sequence[float]) -> float:
    """How far a series moves from one step to the next, in the middle."""
    from statistics import median  # which brings fractions and decimals along

    moves = [abs(b - a) for a, b in pairwise(values) if math.isfinite(a) and math.isfinite(b)]
    return median(moves) if moves else 0.0

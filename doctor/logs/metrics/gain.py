"""Whether the metrics of a run show that it learnt what it was to learn, beyond their own noise.

A loss that falls shows only that something was fitted, be it the padding or answers of other questions. A reward that
rose, or a score on data that were held out, shows more. What shows neither is no fault, and no reason to say "healthy".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from doctor.catalogue.held_out import HELD_OUT, is_score
from doctor.logs.metrics.timeline import Series

#: what is missing (keys of `not_seen_...` and `verdict_...` in the words of reports)
UNRISEN, UNIMPROVED, UNSHOWN = "unrisen", "unimproved", "unshown"
#: all of these keys: with one of them a run has no finding and ended well
UNLEARNT = (UNRISEN, UNIMPROVED, UNSHOWN)
#: rewards of runs of reinforcement learning; DPO's `rewards/margins` rise whatever the pairs hold
_REWARD = "reward"
_LOSS = "eval_loss"
_BEGINNINGS = tuple(each.rstrip("*") for each in HELD_OUT)
#: values of which a course is made; fewer have no noise to be measured against
LEAST, _LEAST_REWARDS = 3, 5
#: how many standard errors apart the first and the last third of a course lie at least where it went somewhere
_ERRORS = 2.5
#: of values without trend the second differences have six times their variance
_OF_SECOND_DIFFERENCES = 6.0


def missing(longest: Mapping[str, Series]) -> str:
    """What keeps the metrics from showing that the run learnt: one of `UNLEARNT`; "" where they show it.

    Args:
        longest: of each metric the series that holds most values.

    """
    reward = _values(longest.get(_REWARD))
    if len(reward) >= _LEAST_REWARDS and (rise(reward) > _ERRORS or _at_bound(reward)):
        return ""
    held = [gain for each in longest.values() for gain in _gains(each)]
    if any(gain > _ERRORS for gain in held):
        return ""
    if len(reward) >= _LEAST_REWARDS:
        return UNRISEN
    return UNIMPROVED if held else UNSHOWN


def _gains(series: Series) -> Iterator[float]:
    """By how many standard errors a held-out loss or score became better; nothing of other metrics."""
    falls = series.name == _LOSS
    values = _values(series) if series.name.startswith(_BEGINNINGS) and (falls or is_score(series.name)) else []
    if len(values) >= LEAST:
        yield -rise(values) if falls else rise(values)


def rise(values: Sequence[float]) -> float:
    """By how many standard errors the last third of at least three values lies above the first; see `thirds`."""
    return thirds(values)[2]


def thirds(values: Sequence[float]) -> tuple[float, float, float]:
    """Means of the first and the last third of at least three values, and how many standard errors lie between them.

    The error comes from second differences, in which neither a level nor a steady trend is left. 0 where nothing
    moves, infinite where all that moves is the trend.
    """
    third = max(1, len(values) // 3)
    early, late = sum(values[:third]) / third, sum(values[-third:]) / third
    bends = [a - 2 * b + c for a, b, c in zip(values, values[1:], values[2:], strict=False)]
    spread = math.sqrt(sum(each * each for each in bends) / len(bends) / _OF_SECOND_DIFFERENCES)
    error = spread * math.sqrt(2 / third)
    if late == early:
        return early, late, 0.0
    return early, late, (late - early) / error if error > 0 else math.copysign(math.inf, late - early)


def _at_bound(values: Sequence[float]) -> bool:
    """Whether most of the last values are the one whole number above 0 that no value exceeds: all that can be had."""
    top, last = max(values), sorted(values[-(len(values) // 3) :])
    return top > 0 and top == int(top) and last[len(last) // 2] == top


def _values(series: Series | None) -> list[float]:
    """The values of a series in order, as far as they are kept and finite."""
    return [] if series is None else [value for _, value in sorted(series.points())]

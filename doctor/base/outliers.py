"""Who is slow, read from measurements of pairs: the point whose every pair is slow, and the single slow pair.

A measurement is a cost (bigger is slower: seconds for a message, seconds for a byte). Noise only ever makes slower, so
the least of several measurements of a pair stands for it. What is compared are logarithms: "1.5 times slower".

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple, Optional

from doctor.base.stats import MAD_TO_SIGMA, median_of_sorted

#: a pair that costs this many times the median is worth another measurement
SUSPICIOUS = 1.4
#: factor of a finding with fewer than 3, fewer than 6, more other pairs to compare with: a few pairs say little
FEW_FACTORS = ((3, 4.0), (6, 2.0))
FACTOR = 1.5
#: factor of a single slow pair, and the share of all pairs above which slow ones are the network's ordinary state
PAIR_FACTOR, PAIR_SHARE = 2.0, 0.1
#: pairs without which no single one is called an exception; pairs up to which all are measured again
LEAST_PAIRS, ALL_PAIRS = 10, 15
#: standard deviations of the measured noise that a departure must exceed; noise below which no measurement is believed
SIGMAS, LEAST_SIGMA = 5.0, 0.03
#: share of a slow point's pairs that may be fast (one that is itself the exception)
FAST_SHARE = 0.25


class PairCost(NamedTuple):
    """The cost of a pair: `a` and `b` name its ends, `spread` is the relative noise of the repetitions behind it."""

    a: Hashable
    b: Hashable
    cost: float
    spread: float = 0.0


class Slow(NamedTuple):
    """One that is slow: `own` cost against that of the `others`, measured noise `sigma` of the logarithms."""

    who: Any
    own: float
    others: float
    sigma: float

    @property
    def factor(self) -> float:
        """How many times slower."""
        return self.own / self.others

    @property
    def sigmas(self) -> float:
        """The departure in standard deviations of the measured noise."""
        return math.log(self.factor) / self.sigma


def best_of(samples: Iterable[PairCost]) -> list[PairCost]:
    """One sample for each pair: its least cost."""
    best: dict[Any, PairCost] = {}
    for each in samples:
        key = frozenset((each.a, each.b))
        if key not in best or each.cost < best[key].cost:
            best[key] = each
    return list(best.values())


def suspicious(samples: Sequence[PairCost]) -> list[PairCost]:
    """Samples that deserve another measurement, the slowest first; of few samples all, for the median may be slow."""
    if len(samples) <= ALL_PAIRS:
        return sorted(samples, key=lambda each: -each.cost)
    middle = median_of_sorted(sorted(each.cost for each in samples))
    return sorted((each for each in samples if each.cost > SUSPICIOUS * middle), key=lambda each: -each.cost)


def slow_points(samples: Sequence[PairCost], *, factor: float = FACTOR) -> list[Slow]:
    """Points that make (nearly) all of their pairs slow, the slowest first.

    Args:
        samples: one for each pair, see :func:`best_of`; pairs need not be complete.
        factor: how many times slower than the other pairs is too slow, given enough of those.

    Each point's pairs are compared with the pairs in which it takes no part. The worst is taken away and the rest is
    looked at again, for at most a third of the points: when more are slow there is no telling who is the exception.

    """
    left = list(samples)
    points = len({end for each in samples for end in (each.a, each.b)})
    found: list[Slow] = []
    while len(found) < max(1, points // 3):
        judged = [_judge(point, left, factor) for point in {end for each in left for end in (each.a, each.b)}]
        slow = [each for each in judged if each is not None]
        if not slow:
            break
        worst = max(slow, key=lambda each: each.factor)
        found.append(worst)
        left = [each for each in left if worst.who not in (each.a, each.b)]
    return found


def _judge(point: Hashable, samples: Sequence[PairCost], factor: float) -> Optional[Slow]:
    """A point against the pairs of the others; None when it is not slow or nothing can be said."""
    own = sorted(each.cost for each in samples if point in (each.a, each.b))
    others = [each for each in samples if point not in (each.a, each.b)]
    if len(own) < 2 or not others:
        return None
    usual = median_of_sorted(sorted(each.cost for each in others))
    spread = median_of_sorted(sorted(each.spread for each in samples if point in (each.a, each.b)))
    slow = Slow(point, median_of_sorted(own), usual, max(noise(others), spread))
    least = math.log(_factor(len(others), factor))
    wanted = max(least, SIGMAS * slow.sigma)
    fastest = own[int(FAST_SHARE * (len(own) - 1))]
    if math.log(slow.factor) < wanted or math.log(fastest / usual) < 0.75 * wanted:
        return None
    return slow


def _factor(others: int, factor: float) -> float:
    """The factor that is asked for with so many others to compare with."""
    return next((max(factor, few) for below, few in FEW_FACTORS if others < below), factor)


def slow_pairs(samples: Sequence[PairCost], *, factor: float = PAIR_FACTOR) -> list[Slow]:
    """Single pairs that are slow while others of both ends are not, the slowest first; `who` is (a, b).

    Take the pairs of slow points out before. Where more than a tenth is slow, none is named: that is how the
    network is built (two switches with a thin link between them).
    """
    if len(samples) < LEAST_PAIRS:
        return []
    usual, sigma = median_of_sorted(sorted(each.cost for each in samples)), noise(samples)
    found = [Slow((each.a, each.b), each.cost, usual, max(sigma, each.spread)) for each in samples]
    slow = [each for each in found if each.factor >= factor]
    if len(slow) > max(1.0, PAIR_SHARE * len(samples)):
        return []
    return sorted((each for each in slow if each.sigmas > SIGMAS + 1), key=lambda each: -each.factor)


def slow_values(costs: Sequence[PairCost], *, factor: float) -> list[Slow]:
    """Those of alike machines that are slow by themselves, without pairs: `a` names one, `b` is not read."""
    found = []
    for each in costs:
        others = [other for other in costs if other.a != each.a]
        if len(others) < 2:
            continue
        usual = median_of_sorted(sorted(other.cost for other in others))
        slow = Slow(each.a, each.cost, usual, max(noise(others), each.spread))
        if math.log(slow.factor) >= max(math.log(_factor(len(others) + 1, factor)), SIGMAS * slow.sigma):
            found.append(slow)
    found.sort(key=lambda each: -each.factor)
    return found if len(found) <= max(1, len(costs) // 3) else []


def noise(samples: Sequence[PairCost]) -> float:
    """Standard deviation of the logarithms of costs: between samples by their MAD, and within each by its spread."""
    within = median_of_sorted(sorted(each.spread for each in samples))
    if len(samples) < 4:
        return max(LEAST_SIGMA, within)
    logs = sorted(math.log(each.cost) for each in samples)
    middle = median_of_sorted(logs)
    between = MAD_TO_SIGMA * median_of_sorted(sorted(abs(each - middle) for each in logs))
    return max(LEAST_SIGMA, within, between)

"""Levels that a few quoted lines rule out by themselves: bounds that are set, steps of a mean, sizes of errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Optional

from doctor.base.patterns import later
from doctor.catalogue.courses import Courses

_VALUE = r"(?P<value>-?\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3})?)"

# a ratio outside of the bounds to which it is clamped -------------------------------------------------------------

_CLAMPED = later(
    r"(?i)(?<![\w.])(?P<name>[\w/.]{0,40}ratio[\w/.]{0,12}_cla?(?:mp|ipp)ed(?:[_/](?:min|max|mean))?"
    rf"|[\w/.]{{0,40}}cla?(?:mp|ipp)ed_ratio(?:[_/](?:min|max|mean))?)['\"]?\s?[:=]\s?{_VALUE}"
)
#: what the bounds are called, the lower before the upper: https://arxiv.org/abs/2503.14476 names two of them
_LOWER = ("ratio_clip_min", "clip_ratio_low", "eps_clip_low", "epsilon_low", "eps_clip", "clip_ratio", "epsilon")
_UPPER = ("ratio_clip_max", "clip_ratio_high", "eps_clip_high", "epsilon_high", "eps_clip", "clip_ratio", "epsilon")
_TOLERANCE, _MOST_PARTS, _NEAR_WHOLE = 0.02, 64, 0.03


class Outside(NamedTuple):
    """A clamped value, its bounds, and into how many equal parts it looks divided (0 where it does not)."""

    name: str
    value: float
    low: float
    high: float
    parts: int


def outside(courses: Courses) -> Optional[Outside]:
    """A clamped ratio that is none, by the bounds which the settings give it."""
    low, high = courses.number(*_LOWER), courses.number(*_UPPER)
    if low is None or high is None or not (0 < low < 1 and high > 0):
        return None
    for match in _CLAMPED.finditer(courses.words):
        value = float(match["value"])
        if value > 0 and not 1 - low - _TOLERANCE <= value <= 1 + high + _TOLERANCE:
            bound = 1 - low if match["name"].lower().endswith("min") else 1 + high
            times = bound / value
            near = abs(times - round(times)) <= _NEAR_WHOLE and 1 < round(times) <= _MOST_PARTS
            return Outside(match["name"], value, 1 - low, 1 + high, round(times) if near else 0)
    return None


# a mean that only takes the values of one row ---------------------------------------------------------------------

_SHARE = later(rf"(?i)(?<![\w.])(?P<name>(?:rewards?[_/])?accurac(?:y|ies))['\"]?\s?[:=]\s?['\"]?{_VALUE}")
_ROWS = 6
_RANKS = later(r"(?i)--?(?:num_processes|nproc[_-]per[_-]node)[ =](?P<ranks>\d{1,4})")


class OneRow(NamedTuple):
    """A share that is 0 or 1 in every row, of how many rows, and the ranks that it should be averaged over."""

    name: str
    rows: int
    ranks: str


def of_one_row(courses: Courses) -> Optional[OneRow]:
    """A mean over N rows takes the multiples of 1/N; one that is 0 in some lines and 1 in all others is of one row."""
    told = list(_SHARE.finditer(courses.words))
    values = [float(each["value"]) for each in told]
    if len(values) < _ROWS or set(values) != {0.0, 1.0} or len({each["name"] for each in told}) > 1:
        return None
    ranks = _RANKS.search(courses.words)
    return OneRow(told[0]["name"], len(values), ranks["ranks"] if ranks else "")


# a gradient of another size than the loss -------------------------------------------------------------------------

#: of a mean over tokens a pretrained model has gradients of some tens at most; one that falls is in its first steps
_LARGE, _STEADY, _LOSSES = 300.0, 0.15, (0.3, 6.0)


def unscaled(courses: Courses) -> Optional[tuple[float, float]]:
    """(gradient norm, loss) of rows in which a huge norm is steady and the loss stands where it is."""
    norm, loss = courses.of.get("grad_norm"), courses.of.get("loss")
    if norm is None or loss is None or min(norm.count, loss.count) < len(_LOSSES) + 1:
        return None
    still = norm.low >= _LARGE and norm.high - norm.low <= _STEADY * norm.low
    moved = loss.high - loss.low > _STEADY * loss.low
    return (norm.last, loss.last) if still and not moved and _LOSSES[0] <= loss.last <= _LOSSES[1] else None


# a comparison that cannot fail ------------------------------------------------------------------------------------

_PASSED = later(
    r"(?i)(?P<what>[^\n]{3,200}?\b(?:pass(?:ed|es)?|ok|agrees?)\b[^\n]{0,160}?)[:,(]? ?\brel(?:ative)?[ _.]{0,2}"
    rf"(?:err(?:or)?|diff(?:erence)?)[ =:]{{0,3}}{_VALUE}"
    r"[^\n\d]{0,20}(?P<tolerance>\d+(?:\.\d+)?(?:e[-+]?\d{1,3})?)"
)
#: relative error of something against nothing at all; of two that have nothing in common it is the root of 2
_NOTHING_ALIKE = 0.9


class Vacuous(NamedTuple):
    """A comparison that passed, its relative error, and the tolerance."""

    what: str
    error: str
    tolerance: str


def vacuous(courses: Courses) -> Optional[Vacuous]:
    """A check that says it passed although the two sides have nothing in common."""
    for match in _PASSED.finditer(courses.words):
        if _NOTHING_ALIKE <= float(match["value"]) <= float(match["tolerance"]):
            return Vacuous(match["what"].strip(" :,("), match["value"], match["tolerance"])
    return None


# two files that hold the same -------------------------------------------------------------------------------------

_DIGEST = later(r"(?m)^(?P<digest>[0-9a-f]{32,128}) [ *](?P<file>\S{3,200})\s*$")
_RATE = later(r"(?i)\b(?:learning[ _]rate|lr)['\"]?\s?[:=]\s?['\"]?(?P<rate>\d[\d.]*(?:e[-+]?\d{1,3})?)")


def alike(courses: Courses) -> Optional[tuple[str, str, bool]]:
    """(one file, another, whether a learning rate of 0 is shown) of two checkpoints with the same digest."""
    seen: dict[str, str] = {}
    for match in _DIGEST.finditer(courses.words):
        digest, file = match["digest"], match["file"]
        if digest in seen and seen[digest] != file and _numbers(seen[digest]) != _numbers(file):
            rates = (float(each["rate"].rstrip(".")) for each in _RATE.finditer(courses.words))
            return seen[digest], file, any(math.isclose(each, 0.0, abs_tol=1e-30) for each in rates)
        seen.setdefault(digest, file)
    return None


def _numbers(path: str) -> Sequence[str]:
    return "".join(each if each.isdigit() else " " for each in path).split()

"""Metric lines: values taken out of them, the bars around them read, columns made of many.

`_figures.c` and `_rows.c` hold the same, compiled as `doctor.logs.read.quick` tells.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import Optional, Union

from doctor.base.patterns import later
from doctor.logs.read.quick import plain_piece_around

__all__ = [
    "bar_of", "buckets_of", "column_of", "may_follow", "plain_bar_of", "plain_buckets_of", "plain_column_of",
    "plain_row_at", "plain_values_of", "row_at", "values_of",
]  # fmt: skip

#: step, and values in the order of the line: doubles as the machine has them, see `array.array("d")`
Values = tuple[Optional[int], bytes]

_NUMBER = rb"([0-9A-Za-z.+-]+)"
_NUMPY = rb"(?:np\.\w{1,12}\((?=[0-9A-Za-z.+-]+\)))"
_ROUNDED_OFF = rb"(?!0\.00{1,8}(?: - |\s*\Z))"
_OTHER_STEP = {ord("s"): rb"(\d{1,18})", ord("o"): rb"(\d{1,18})/\d+"}


def plain_values_of(line: bytes, at: int, words: tuple[bytes, ...], kinds: bytes, /) -> Optional[Values]:
    """The step and the values asked for of a metric line with a known layout; None where it has another one.

    Args:
        line: the line.
        at: where its metrics begin, not negative.
        words: what stands before each value and behind the last; those behind a value begin with no part of it.
        kinds: `d` for a dict, whose values may be quoted, or `v` for veRL's line, whose values may be numpy's; then
            for each value `v` where it is asked for, `r` where it is besides no figure once three decimals left
            nothing of it, `s` for the step, `o` for the step with a slash and all steps, `-` where nobody asks for it.

    """
    pattern, step, places = _pattern_of(words, kinds)
    match = pattern.match(line, at)
    if match is None:
        return None
    told = match.groups()
    try:
        return None if step is None else int(told[step]), array("d", [float(told[each]) for each in places]).tobytes()
    except ValueError:
        return None


@lru_cache(maxsize=256)
def _pattern_of(words: tuple[bytes, ...], kinds: bytes) -> tuple[re.Pattern[bytes], Optional[int], tuple[int, ...]]:
    """The layout as a pattern, with the group of the step and those of the values."""
    is_dict, groups = kinds[0] == ord("d"), 0
    quote, other = (b"'?", rb"[^,'{}]*") if is_dict else (b"", rb"[^ :{}]+")
    parts, step, places = [], None, []
    for word, kind in zip(words, kinds[1:]):  # noqa: B905 - the last word has no value behind it
        value = other
        if kind in _OTHER_STEP:
            value, step, groups = _OTHER_STEP[kind], groups, groups + 1
        elif kind != ord("-"):
            numpy = not is_dict and kind == ord("v")
            value = b"(%b)?%b(?(%d)\\))" % (_NUMPY, _NUMBER, groups + 1) if numpy else _NUMBER
            value = _ROUNDED_OFF + value if kind == ord("r") else value
            groups += 1 + numpy
            places.append(groups - 1)
        parts.append(re.escape(word) + quote + value + quote)
    return re.compile(b"".join(parts) + re.escape(words[-1]) + rb"\s*\Z"), step, tuple(places)


#: words before a progress bar, steps done and in all, seconds an iteration; None where it tells none yet
AnyBar = tuple[bytes, int, int, Optional[float]]

_BAR = later(rb"^([^|]{0,80}?) {0,3}\d{1,3}%\|[^|\r\n]{0,400}\| *(\d{1,12})/(\d{1,12}) \[([^\]\r\n]{1,200})\]?")
_PACE = later(rb"([\d.]{1,12})(it/s|s/it)")


def plain_bar_of(data: bytes, start: int, end: int, /) -> Optional[AnyBar]:
    """The progress bar of tqdm that a part holds, whose bounds are not negative; None where it holds something else."""
    return _bar_of(data[start:end].strip())


@lru_cache(maxsize=16)  # what stood before a metric line is drawn again behind it
def _bar_of(text: bytes) -> Optional[AnyBar]:
    match = _BAR.match(text)
    if match is None:
        return None
    pace, step_s = _PACE.search(match[4]), None
    try:
        if pace is not None and (figure := float(pace[1])):
            step_s = figure if pace[2] == b"s/it" else 1 / figure
    except ValueError:  # points alone
        pass
    return match[1], int(match[2]), int(match[3]), step_s


#: words, kinds, names of the values asked for, what the metrics begin with, whether nobody asks for the bar behind
Layout = tuple[tuple[bytes, ...], bytes, tuple[str, ...], bytes, bool]
#: a bar without words: steps done and in all, seconds an iteration; False: whoever asks must look himself
BareBar = Union[None, bool, tuple[int, int, Optional[float]]]
#: a metric line: its number, its step, names and doubles, what stands before it, the bars before and behind it, and
#: whether another row comes before a bar
MetricLine = tuple[int, Optional[int], tuple[str, ...], bytes, bytes, BareBar, BareBar, bool]

_LONGEST_HEAD_BYTES = 300
#: words before veRL's line with which it is another kind of line
_OTHER_KINDS = (b"{", b"tps: ", b"| Step: ")
#: bytes behind a line in which its bar may stand, and those in which it begins mostly
_FAR, _NEAR = 1000, 6


@lru_cache(maxsize=256)  # the same words stand before thousands of lines
def may_follow(head: bytes, first: bytes) -> bool:
    """Whether metrics that stand behind these words are what they are without them."""
    if first == b"{'":
        return not head.endswith(b": ") and b"'" not in head
    return head[-1:] in (b" ", b"\t", b"\r", b"\n", b"]", b")") and not any(each in head for each in _OTHER_KINDS)


def plain_row_at(
    number: int, data: bytes, start: int, end: int, layouts: Sequence[Layout], before: int, behind: int, /
) -> Optional[MetricLine]:
    """What a metric line of a known layout tells, where it stands; None where it has another one.

    Args:
        number: of the line; it is given back.
        data: the text.
        start: where the line begins in it.
        end: where it ends: with a line feed, a carriage return or the text.
        layouts: tuples as `Layout`, tried in order.
        before: how many bytes before the line may hold its bar.
        behind: how many behind it.

    """
    line = data[start:end]
    for words, kinds, names, first, placed in layouts:
        begin = line.find(first)
        if begin < 0 or (begin and not may_follow(line[:begin], first)):
            continue
        found = plain_values_of(line, begin, words, kinds)
        if found is not None:
            drawn, followed = (None, False) if placed or found[0] is not None else _behind(data, end, behind)
            head = line[:begin][-_LONGEST_HEAD_BYTES:]
            return number, found[0], names, found[1], head, _before(data, start, before), drawn, followed
    return None


def _before(data: bytes, start: int, most: int) -> BareBar:
    """The bar before the start of a line."""
    low = max(start - most, 0)
    at = data.rfind(b"%|", low, start)
    if at < 0:
        return None
    first, end = plain_piece_around(data, at)
    return _bare(data, first, end) if first > low else False


def _behind(data: bytes, end: int, most: int) -> tuple[BareBar, bool]:
    """The bar behind the end of a line, and whether another row comes before one."""
    if data.startswith(b"\n{'", end):
        return None, True
    at = data.find(b"%|", end, end + most)
    if at < 0:
        return None, data[end : end + most].lstrip(b"\r\n").startswith(b"{'")
    first, last = plain_piece_around(data, at)
    if last < end + _FAR and first < end + _NEAR and data.find(b"{'", end, first) < 0:
        return _bare(data, first, last), False
    return False, False


def _bare(data: bytes, start: int, end: int) -> BareBar:
    told = plain_bar_of(data, start, end)
    return False if told is None or told[0] else told[1:]


#: values, whether all are finite, the least and the greatest where they are
ColumnFigures = tuple[tuple[float, ...], bool, float, float]


def plain_column_of(doubles: bytes, place: int, width: int, /) -> ColumnFigures:
    """One metric of rows of so many doubles."""
    values = tuple(array("d", doubles)[place::width])
    if not math.isfinite(sum(values)):  # or finite values whose sum is not: whoever asks goes the slow way
        return values, False, math.inf, -math.inf
    return values, True, min(values, default=math.inf), max(values, default=-math.inf)


#: place and value of the first, the least, the greatest and the last of some values
Bucket = tuple[int, float, int, float, int, float, int, float]


def plain_buckets_of(places: list[int], values: list[float], start: int, width: int, /) -> list[Bucket]:
    """Values in buckets of some width, the last of which may hold fewer.

    Args:
        places: one of each value.
        values: all of them finite.
        start: number of the first that counts.
        width: how many a bucket holds.

    """
    found = []
    for at in range(start, len(values), width):
        own = values[at : at + width]
        low, high = min(own), max(own)
        least, greatest = places[at + own.index(low)], places[at + own.index(high)]
        found.append((places[at], own[0], least, low, greatest, high, places[at + len(own) - 1], own[-1]))
    return found


try:
    from doctor.logs.read._quick import bar_of, buckets_of, column_of, row_at, values_of
except ImportError:
    bar_of, buckets_of, column_of = plain_bar_of, plain_buckets_of, plain_column_of
    row_at, values_of = plain_row_at, plain_values_of

"""What is done with every byte of a log: codes cut out, lines counted; values taken out of metric lines, bars read.

`_quick.c` holds the same, compiled when the doctor is installed where there is a compiler; end to end a
post-mortem takes 0 to 4 % less time with it at 5 MB, 4 to 10 % at 100 MB, 6 to 16 % at 400 MB
and 20 to 28 % at 1 GB (benchmarks/logs.py). Both give the same answers, tested against each other.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from functools import lru_cache
from typing import Optional

from doctor.base.patterns import later

__all__ = [
    "CODES", "bar_of", "behind_line_feeds", "count_line_feeds", "cut_codes", "literal_noter", "piece_around",
    "plain_bar_of", "plain_behind_line_feeds", "plain_count_line_feeds", "plain_cut_codes", "plain_literal_noter",
    "plain_piece_around", "plain_values_of", "values_of",
]  # fmt: skip

#: colours and cursor movements (ECMA-48), window titles and links (ended by BEL or ST), single shifts; never a line
#: end. The first alternative tells nothing new: it is that of nearly every code, and quickly told
CODES = re.compile(
    rb"\x1b(?:\[[0-9;]{0,64}m|\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\r\n]{0,2048}(?:\x07|\x1b\\)|[@-Z\\^_])"
)


def plain_cut_codes(raw: bytes, /) -> bytes:
    """Text without its terminal codes; the same object where it has none."""
    return CODES.sub(b"", raw) if b"\x1b" in raw else raw


def plain_count_line_feeds(data: bytes, start: int, end: int, /) -> int:
    """Line feeds of a part, whose bounds are not negative."""
    return data.count(b"\n", start, end)


def plain_behind_line_feeds(data: bytes, start: int, count: int, /) -> int:
    """Position behind so many line feeds from a position on; behind the last where they are fewer."""
    return len(data) - len(data[start:].split(b"\n", count)[-1])


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


def plain_piece_around(data: bytes, at: int, /) -> tuple[int, int]:
    """Start and end of what stands around a position, which is not negative, between two ends of lines."""
    start = max(data.rfind(b"\n", 0, at), data.rfind(b"\r", 0, at)) + 1
    end = data.find(b"\n", at)
    end = len(data) if end < 0 else end
    carriage = data.find(b"\r", at, end)
    return start, carriage if carriage >= 0 else end


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


#: of the beginning of a literal: its length, numbers of the literals that begin so, and these, where more must follow
Beginning = tuple[int, tuple[int, ...], tuple[bytes, ...]]


def plain_literal_noter(
    data: bytes, found: list[tuple[int, int]], beginnings: tuple[Beginning, ...], /
) -> Callable[[int, int, int, int, object], None]:
    """What hyperscan calls for each beginning that it finds; notes the literals that stand there, and where.

    Args:
        data: what is searched.
        found: what is added to: (number of a literal, a position inside it).
        beginnings: in the order of the numbers by which hyperscan knows them.

    """
    add = found.append

    def note(beginning: int, _start: int, end: int, _flags: int, _context: object, /) -> None:
        length, numbers, literals = beginnings[beginning]
        if not literals:
            add((numbers[0], end - 1))
            return
        start = end - length
        for number, literal in zip(numbers, literals, strict=True):
            if data.startswith(literal, start):
                add((number, end - 1))

    return note


try:
    from doctor.logs.read._quick import (
        bar_of,
        behind_line_feeds,
        count_line_feeds,
        cut_codes,
        literal_noter,
        piece_around,
        values_of,
    )
except ImportError:
    bar_of, behind_line_feeds, count_line_feeds = plain_bar_of, plain_behind_line_feeds, plain_count_line_feeds
    cut_codes, literal_noter, piece_around = plain_cut_codes, plain_literal_noter, plain_piece_around
    values_of = plain_values_of

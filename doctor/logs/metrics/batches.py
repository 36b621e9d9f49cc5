"""Many metric lines at once: lines that differ in their figures only are cut, checked and turned into numbers together.

Each line says what `doctor.logs.metrics.names.parse_row` makes of it. The first line of a kind goes that careful way,
by which its keys become known; lines that do not have just these keys, or hold anything but numbers, follow it there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import repeat
from typing import Any, Optional

from doctor.base.patterns import later
from doctor.logs.metrics.names import (
    DICT_SHAPES,
    LONGEST_LINE_BYTES,
    STEP_BEFORE_DICT,
    VERL_SHAPES,
    VERL_STEP,
    VLLM,
    VLLM_CACHE,
    VLLM_NAMES,
    VLLM_WORDS,
    MetricValues,
    RowShape,
    parse_row,
    shared,
)

#: what lines of one kind differ in
_FIGURES = b"0123456789.e+-"

#: of fewer lines nothing is gained
_FEW = 4

_NUMPY_FIGURE = later(rb"(?<=:)np\.\w{1,12}\(([^()\n]{1,40})\)(?= - |$)", re.MULTILINE)
#: as in `doctor.logs.metrics.names`, at the end of each line
_ROUNDED_RATE = later(rb"/lr:0\.00{1,8}(?= - |$)", re.MULTILINE)
_MOST_DIGITS = 12  # of a step, as in VERL_STEP

_row: Any = partial(tuple.__new__, MetricValues)


def parse_rows(lines: Sequence[bytes]) -> list[Optional[MetricValues]]:
    """What each of the lines tells, None where it tells nothing."""
    kinds: dict[bytes, list[int]] = {}
    for number, line in enumerate(lines):
        kinds.setdefault(line.translate(None, _FIGURES), []).append(number)
    if len(kinds) == 1:
        return _of_a_kind(lines)
    rows: list[Optional[MetricValues]] = [None] * len(lines)
    for places in kinds.values():
        for place, row in zip(places, _of_a_kind([lines[each] for each in places]), strict=True):
            rows[place] = row
    return rows


def _of_a_kind(lines: Sequence[bytes]) -> list[Optional[MetricValues]]:
    first = parse_row(lines[0])
    if first is not None and len(lines) >= _FEW and max(map(len, lines)) <= LONGEST_LINE_BYTES:
        together = _by_words(lines)(lines)
        if together is not None and together[0] is not None and together[0].names == first.names:
            return together
    return [first, *map(parse_row, lines[1:])]


def _by_words(lines: Sequence[bytes]) -> Callable[[Sequence[bytes]], Optional[list[Optional[MetricValues]]]]:
    """What takes lines of this kind apart."""
    if b"{" in lines[0]:
        return _dicts
    return _verl if b"step:" in lines[0] else _servers


def _dicts(lines: Sequence[bytes]) -> Optional[list[Optional[MetricValues]]]:
    """Rows of dict lines; None where they must be read one by one."""
    starts = [line.find(b"{'") for line in lines]
    if min(starts) < 0 or b"'step': " in lines[0] or b"'global_step': " in lines[0]:
        return None
    steps: list[Optional[int]] = [None] * len(lines)
    if max(starts):
        before = map(STEP_BEFORE_DICT.search, lines, [max(0, each - 32) for each in starts], starts)
        steps = [int(each[1]) if each else None for each in before]
    bodies = [line[start + 1 : line.rfind(b"}")] for line, start in zip(lines, starts, strict=True)]
    parts = b", ".join(bodies).translate(None, b"'").replace(b": ", b", ").split(b", ")
    keys = parts[: len(parts) // len(lines) : 2]
    shape = DICT_SHAPES.get(tuple(keys))
    if shape is None or (None in steps and not shape.telling) or parts[::2] != keys * len(lines):
        return None
    return _rows(steps, shape, parts[1::2], len(keys))


def _verl(lines: Sequence[bytes]) -> Optional[list[Optional[MetricValues]]]:
    """Rows of veRL's lines, likewise."""
    match = VERL_STEP.search(lines[0])
    if match is None:
        return None
    word, begin = lines[0][: match.start(1)], match.start(1)
    if sum(map(bytes.startswith, lines, repeat(word))) == len(lines):
        bodies = [line[begin:] for line in lines]
    else:
        found = map(VERL_STEP.search, lines)
        bodies = [line[each.start(1) :] for line, each in zip(lines, found, strict=True) if each]
    text = b"\n".join(bodies)
    if b"/lr:0.00" in text and _ROUNDED_RATE.search(text):
        return None
    if b":np." in text:
        text = _NUMPY_FIGURE.sub(rb"\1", text)
    parts = text.replace(b" - ", b":").replace(b"\n", b":").split(b":")
    width = len(parts) // len(lines)
    steps = parts[::width]
    if width * len(lines) != len(parts) or not b"".join(steps).isdigit() or max(map(len, steps)) > _MOST_DIGITS:
        return None
    del parts[::width]
    keys = parts[: width - 1 : 2]
    shape = VERL_SHAPES.get(tuple(keys))
    if shape is None or parts[::2] != keys * len(lines):
        return None
    return _rows(map(int, steps), shape, parts[1::2], len(keys))


def _servers(lines: Sequence[bytes]) -> Optional[list[Optional[MetricValues]]]:
    """Rows of vLLM's lines, likewise."""
    text = b"\n".join(lines)
    if text.count(VLLM_WORDS) != len(lines):
        return None
    told, caches = VLLM.findall(text), VLLM_CACHE.findall(text)
    if len(told) != len(lines) or len(caches) not in (0, len(lines)):
        return None
    columns = [list(map(float, column)) for column in zip(*told, strict=True)]
    if caches:
        columns.append([float(each) / 100 for each in caches])
    names = shared(VLLM_NAMES[: len(columns)])
    return list(map(_row, zip(repeat(None), repeat(names), zip(*columns, strict=True))))


def _rows(
    steps: Iterable[Optional[int]], shape: RowShape, told: list[bytes], count: int
) -> Optional[list[Optional[MetricValues]]]:
    """Rows of lines of so many values each; None where something told is no number."""
    try:
        values: Any = zip(*[map(float, told)] * count, strict=True)
        return list(
            map(_row, zip(steps, repeat(shape.names), values if shape.pick is None else map(shape.pick, values)))
        )
    except ValueError:
        return None

"""Small plots in text: one row of blocks for a metric. Reads the `series` of a report; knows no terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from doctor.base.stats import median_of_sorted

BLOCKS, PLAIN_BLOCKS = "▁▂▃▄▅▆▇█", "_.-:=+*#"
NOT_FINITE, PLAIN_NOT_FINITE = "×", "x"

#: positive values of which the greatest is this many times the median are drawn on a logarithmic scale
_LOG_FROM = 100.0
_MOST_ROWS = 7
_USUAL = ("loss", "reward", "kl", "grad_norm")


def chosen(series: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Metrics that a reader of the findings wants to see: what findings judge, and the usual ones that move."""
    judged = [each for each in series if each["findings"] and (_moves(each) or each["name"].startswith("reward"))]
    usual = [each for each in series if each["name"] in _USUAL and not each["findings"] and _moves(each)]
    return [*judged, *usual][:_MOST_ROWS]


def _moves(series: Mapping[str, Any]) -> bool:
    return len({value for _, value in series["points"]}) > 1 or series["not_finite_from"] is not None


def column_of(position: float, span: Sequence[int], width: int) -> int:
    """The column of a step in a plot of some width."""
    first, last = span
    share = (position - first) / (last - first) if last > first else 0.0
    return min(width - 1, max(0, int(share * width)))


def row(series: Mapping[str, Any], span: Sequence[int], width: int, *, plain: bool = False) -> str:
    """One metric as `width` characters: blocks by height, a cross where not finite, blank where not told."""
    values = _columns(series, span, width)
    finite = [each for each in values if each is not None and not math.isnan(each)]
    blocks, cross = (PLAIN_BLOCKS, PLAIN_NOT_FINITE) if plain else (BLOCKS, NOT_FINITE)
    scale = _scale(finite, logarithmic=is_logarithmic(series))
    return "".join(
        " " if each is None else cross if math.isnan(each) else blocks[min(7, int(scale(each) * 8))] for each in values
    )


def is_logarithmic(series: Mapping[str, Any]) -> bool:
    """Whether a metric is drawn on a logarithmic scale: positive, and exploding. What falls is seen well without."""
    values = [value for _, value in series["points"]]
    return bool(values) and min(values) > 0 and max(values) > _LOG_FROM * median_of_sorted(sorted(values))


def _scale(finite: Sequence[float], *, logarithmic: bool) -> Callable[[float], float]:
    """Value -> 0..1."""
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    if low == high:
        return lambda _: 0.45
    if logarithmic:
        return lambda value: (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))
    return lambda value: (value / 2 - low / 2) / (high / 2 - low / 2)  # no float holds the difference of the greatest


def _columns(series: Mapping[str, Any], span: Sequence[int], width: int) -> list[float | None]:
    """A value for each column: of several the one that stands out most; between two points the earlier one stays.

    NaN stands for "not finite", None for "not told".
    """
    points = series["points"]
    middle = median_of_sorted(sorted(value for _, value in points)) if points else 0.0
    out: list[float | None] = [None] * width
    for step, value in points:
        column = column_of(step, span, width)
        known = out[column]
        if known is None or abs(value - middle) > abs(known - middle):
            out[column] = value
    begins, ends = (column_of(each, span, width) for each in series["span"])
    broken, again = _not_finite(series, span, width)
    for column in range(begins, ends + 1):
        if out[column] is None:
            out[column] = math.nan if broken <= column < again else out[column - 1] if column > begins else None
    return out


def not_finite(series: Mapping[str, Any]) -> tuple[float, float | None] | None:
    """Steps from which on a metric is not finite, and is so again (None: never); None where it always is."""
    since = series["not_finite_from"]
    if since is None:
        return None
    return since, min((step for step, _ in series["points"] if step > since), default=None)


def _not_finite(series: Mapping[str, Any], span: Sequence[int], width: int) -> tuple[int, int]:
    """The same in columns; `width` where there is none."""
    broken = not_finite(series)
    if broken is None:
        return width, width
    since, again = broken
    return column_of(since, span, width), width if again is None else column_of(again, span, width)

"""The metric time line: rows of blocks, and arrows where findings began."""

from __future__ import annotations

import io
import math
from typing import Any

import pytest

from doctor.render import sparkline
from doctor.render.console import console_for
from doctor.render.timeline import draw_timeline
from doctor.render.words import WORDS


def series(values: list[float], name: str = "reward", findings: tuple[str, ...] = ("RLX009",)) -> dict[str, Any]:
    """One value a step from 1 on; NaN is left out of the points, as in a report."""
    points = [[step, value] for step, value in enumerate(values, 1) if math.isfinite(value)]
    broken = next((step for step, value in enumerate(values, 1) if not math.isfinite(value)), None)
    first, last = (value if math.isfinite(value) else None for value in (values[0], values[-1]))
    return {
        "name": name, "source": "a.log", "x": "step", "count": len(values), "span": [1, len(values)], "first": first,
        "last": last, "findings": list(findings), "points": points, "not_finite_from": broken,
    }  # fmt: skip


def finding(step: int, problem: str = "RLX009") -> dict[str, Any]:
    return {"id": problem, "severity": "warning", "where": {"step": step}}


def drawn(metrics: list[dict[str, Any]], findings: list[dict[str, Any]], width: int = 80) -> list[str]:
    stream = io.StringIO()
    console = console_for(stream, color=False)
    console.width = width
    draw_timeline({"series": metrics, "findings": findings}, console, WORDS["en"], plain=False)
    return [line for line in stream.getvalue().splitlines() if line.strip()]


def test_a_row_shows_heights_in_order() -> None:
    assert sparkline.row(series([0, 1, 2, 3, 4, 5, 6, 7]), [1, 8], 8) == sparkline.BLOCKS
    assert sparkline.row(series([0, 1, 2, 3, 4, 5, 6, 7]), [1, 8], 8, plain=True) == sparkline.PLAIN_BLOCKS


def test_a_spike_among_many_points_is_seen() -> None:
    values = [1.0] * 4000
    values[2500] = 9.0
    row = sparkline.row(series(values), [1, 4000], 40)
    assert row.count("█") == 1
    assert row.index("█") == 25


def test_what_is_not_finite_is_crossed_until_it_is_again() -> None:
    assert sparkline.row(series([1, 2, math.nan, math.nan]), [1, 4], 8) == "▁▁███×××"
    assert sparkline.row(series([1, math.nan, 2, 1]), [1, 4], 8) == "▁▁×××██▁"
    assert sparkline.row(series([math.nan] * 3), [1, 3], 6) == "××××××"


def test_a_metric_that_ends_early_leaves_the_rest_blank() -> None:
    assert sparkline.row(series([1, 2]), [1, 8], 8) == "▁█      "


def test_explosions_are_drawn_logarithmically_and_collapses_are_not() -> None:
    assert sparkline.is_logarithmic(series([0.3] * 20 + [3, 30, 300, 3000]))
    assert not sparkline.is_logarithmic(series([0.8] * 20 + [0.1, 0.01, 0.0001]))


@pytest.mark.parametrize("width", [60, 80, 110])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    metrics = [series([math.sin(x / 9) for x in range(500)], "sampling/sampling_logp_difference/mean")]
    lines = drawn(metrics, [finding(3), finding(499, "NUM006"), finding(250, "RLX004")], width)
    assert max(len(line) for line in lines) <= width
    assert sum("▲" in line for line in lines) == 3


def test_the_arrow_stands_below_the_step() -> None:
    title, row, arrow = drawn([series([1.0] * 20 + [5.0] * 20)], [finding(21)])
    assert title == "metrics, steps 1 to 40"
    assert row[arrow.index("▲")] == "█"
    assert row[arrow.index("▲") - 1] == "▁"


def test_what_does_not_move_and_was_not_judged_is_left_out() -> None:
    kept = sparkline.chosen(
        [series([1, 2]), series([0, 0], "kl", ()), series([1, 2], "loss", ()), series([1, 2], "x", ())]
    )
    assert [each["name"] for each in kept] == ["reward", "loss"]

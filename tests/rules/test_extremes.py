"""Whatever number a metric tells, no rule breaks: the ends of what a float holds, and what is none."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest

from doctor.catalogue.columns import MetricRow, Stretch, stretches
from doctor.catalogue.rules import RuleEngine, load_rules
from doctor.catalogue.series import Point

RULES = load_rules()
PROBLEMS = [vars(each)["__doctor_rule__"][0] for each in RULES]
NAMES = sorted({name.replace("*", "x") for each in RULES for name in vars(each)["__doctor_rule__"][1]})
EXTREMES = (
    1.7e308, -1.7e308, 1e308, -1e308, 1e154, -1e154, 2.0**53, 1e5, -1e5, 1.0, -1.0, 0.5, 0.0, -0.0, 1e-300, 5e-324,
    -5e-324, math.nan, math.inf, -math.inf,
)  # fmt: skip


def rows_of(seed: int) -> Iterator[MetricRow]:
    """A run of few different values: mixed, standing still, growing, or extreme after a good beginning."""
    pick = random.Random(seed)  # noqa: S311 - a number must make the same run again
    few, course = pick.sample(EXTREMES, pick.randint(1, 4)), pick.choice(("mixed", "still", "grows", "late"))
    for step in range(pick.choice((30, 120))):
        names = tuple(each for each in NAMES if pick.random() < 0.9)
        values = []
        for _ in names:
            usual = course == "late" and step < 60
            value = 0.5 + pick.random() if usual else few[0] if course == "still" else pick.choice(few)
            values.append(few[0] * step / 100 if course == "grows" else value)
        yield MetricRow(step, names, tuple(values), step * 10**9 if seed % 2 else None, None, f"a.log:{step + 1}")


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("together", [False, True])
def test_no_rule_breaks_at_a_number(seed: int, together: bool) -> None:
    engine = RuleEngine(RULES)
    if together:
        for rows in stretches(list(rows_of(seed))):
            engine.feed_stretch(Stretch(rows))
    else:
        engine.feed_all(
            Point(name, value, row[0], row[3], row[4], row[5])
            for row in rows_of(seed)
            for name, value in zip(row[1], row[2], strict=True)
        )
    engine.close()
    assert all(each.problem in PROBLEMS for each in engine.findings)
    assert not engine.crashed

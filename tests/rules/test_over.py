"""A rule that is over is not asked again: nothing that it would have said gets lost, in whatever comes behind."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from doctor.catalogue.columns import MetricRow
from doctor.catalogue.finding import Finding
from doctor.catalogue.rules import _LOOKED_AT, RuleEngine
from tests.each import for_each
from tests.rules.healthy_run import healthy_run
from tests.rules.test_stretches import CASES, RULES, Run, by_points, everything_said, rows_of_case


def by_guard(rows: Iterable[MetricRow]) -> list[Finding]:
    """What is said of rows as the guard feeds them."""
    engine = RuleEngine(RULES)
    for row in rows:
        engine.feed_row(dict(zip(row.names, row.values, strict=True)), row.step, row.t_ns, row.rank)
    return everything_said(engine)


def followed(rows: list[MetricRow], by: int) -> list[MetricRow]:
    """Rows of one rank and without places, then the same once more, with steps that go on."""
    last = max((row.step or 0 for row in rows), default=0)
    plain = [row._replace(source="") for row in rows if row.rank in (None, rows[0].rank)]
    more = [row._replace(step=None if row.step is None else row.step + (last + 1) * turn) for turn in range(by)
            for row in plain]  # fmt: skip
    return [row for row in more if len(set(row.names)) == len(row.names)]


@for_each("case", CASES)
def test_every_case_of_a_rule(case: dict) -> None:
    for by in (1, 3):
        rows = followed(list(rows_of_case(case)), by)
        assert by_guard(rows) == by_points(rows)


@pytest.mark.parametrize("seed", range(10, 16))
def test_runs_in_which_everything_happens(seed: int) -> None:
    rows = [row._replace(source="") for row in Run(seed).rows()]
    assert by_guard(rows) == by_points(rows)


def test_most_rules_that_look_at_the_beginning_leave_a_run_that_is_well() -> None:
    engine = RuleEngine(RULES)
    for point in healthy_run(1, 2 * _LOOKED_AT):
        engine.feed_row({point.name: point.value}, point.step, None, 0)
    asked = {runner.number for route in engine._routes.values() for _, runner in route.updates}
    assert sum(each.over for each in engine._runners) > 10
    assert not any(each.over for each in engine._runners if each.number in asked)


def test_a_new_beginning_asks_them_again() -> None:
    rows = [MetricRow(step, ("loss", "grad_norm"), (1.0, 1.0)) for step in range(2 * _LOOKED_AT)]
    again = [MetricRow(step, ("loss", "grad_norm"), (0.0, 0.0)) for step in range(2 * _LOOKED_AT)]
    said = by_guard([*rows, *again])
    assert said == by_points([*rows, *again])
    assert "NUM016" in {each.problem.id for each in said}

"""A run that is well raises nothing, however long it takes; fp16's calibration is information at most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter

import pytest

from doctor.catalogue.columns import MetricRow, Stretch, stretches
from doctor.catalogue.problem import INFO
from doctor.catalogue.rules import RuleEngine, load_rules
from doctor.catalogue.series import Point

from .healthy_run import healthy_run


def _rows(points: Iterable[Point]) -> Iterator[MetricRow]:
    """What a log's line of each step tells; rows of one kind share their names."""
    kinds: dict[tuple[str, ...], tuple[str, ...]] = {}
    for step, told in groupby(points, key=attrgetter("step")):
        names, values = zip(*((each.name, each.value) for each in told), strict=True)
        yield MetricRow(step, kinds.setdefault(names, names), values)


def _judge(seed: int, steps: int, *, in_rows: bool = False) -> None:
    engine = RuleEngine(load_rules())
    if in_rows:
        for rows in stretches(_rows(healthy_run(seed, steps))):
            engine.feed_stretch(Stretch(rows))
    else:
        engine.feed_all(healthy_run(seed, steps))
    engine.close()
    assert not engine.crashed
    said = [f"{each.problem.id} at {each.where.step}: {each.words().headline}" for each in engine.findings]
    calibration = seed % 4 == 0
    assert [each.severity for each in engine.findings] == [INFO] * calibration, said
    assert [each.problem.id for each in engine.findings] == ["NUM005"] * calibration, said


@pytest.mark.parametrize("seed", range(20))
def test_ten_thousand_steps(seed) -> None:
    """Six runs as the guard sees them, the others as a post-mortem does, for half the work: see test_stretches."""
    _judge(seed, 10_000, in_rows=seed > 5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_hundred_thousand_steps(seed) -> None:
    _judge(seed, 100_000)

"""A run that is well raises nothing, however long it takes; fp16's calibration is information at most."""

from __future__ import annotations

import pytest

from doctor.catalogue.problem import INFO
from doctor.catalogue.rules import RuleEngine, load_rules

from .healthy_run import healthy_run


def _judge(seed: int, steps: int) -> None:
    engine = RuleEngine(load_rules())
    for point in healthy_run(seed, steps):
        engine.feed(point)
    engine.close()
    assert not engine.crashed
    said = [f"{each.problem.id} at {each.where.step}: {each.words().headline}" for each in engine.findings]
    calibration = seed % 4 == 0
    assert [each.severity for each in engine.findings] == [INFO] * calibration, said
    assert [each.problem.id for each in engine.findings] == ["NUM005"] * calibration, said


@pytest.mark.parametrize("seed", range(20))
def test_ten_thousand_steps(seed) -> None:
    _judge(seed, 10_000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_hundred_thousand_steps(seed) -> None:
    _judge(seed, 100_000)

"""PRF011 on clocks that nobody listed: no card that is counted among "the others" is slow itself."""

from __future__ import annotations

import random
import re

import pytest

from doctor.catalogue.finding import Finding
from doctor.catalogue.series import Point
from doctor.checks.perf.gpu_slower_than_others import GpuSlowerThanOthers


def _judged(clocks: dict[str, float], limits: dict[str, float]) -> Finding | None:
    watch = GpuSlowerThanOthers()
    watch.update(Point("usage/bin_s", 1.0, 0))
    for gpu, watts in limits.items():
        watch.update(Point(f"gpu/{gpu}/power_limit_w", watts, 0))
    for step in range(100):
        for gpu, clock in clocks.items():
            watch.update(Point(f"gpu/{gpu}/activity_pct", 90.0, step))
            watch.update(Point(f"gpu/{gpu}/sm_clock_mhz", clock, step))
    found: Finding | None = watch.finish()
    return found


@pytest.mark.parametrize("seed", range(40))
def test_the_others_are_not_slow_themselves(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a reproducible choice of cases
    count = chance.randint(2, 16)
    slow = set(chance.sample(range(count), chance.randint(0, count // 2)))
    clocks = {
        str(gpu): chance.uniform(700, 1600) if gpu in slow else chance.uniform(1900, 1980) for gpu in range(count)
    }
    finding = _judged(clocks, {})
    assert (finding is None) == (not slow)
    if finding is not None:
        headline = finding.words("en").headline
        named = re.findall(r"\d+", headline.partition(" work")[0])
        assert {int(each) for each in named} == slow
        assert finding.where.gpu == min(slow, key=lambda gpu: clocks[str(gpu)])
        assert float(finding.values["others"]) >= 1899


@pytest.mark.parametrize("gpu", [0, 3, 5, 7])
def test_a_lower_power_limit_is_told_beside_a_low_clock(gpu: int) -> None:
    clocks = {str(each): 1400.0 if each in {1, 2, gpu} else 1980.0 for each in range(8)}
    limits = {str(each): 350.0 if each == gpu else 700.0 for each in range(8)}
    finding = _judged(clocks, limits)
    assert finding is not None
    told = [each.text for each in finding.evidence]
    assert f"the power limit of GPU {gpu} is 350 W, of the others 700 W" in told

"""Short runs of the real TRL, made by tools/real_series.py: each spoilt one is named, and none that is well is accused.

They are CPU runs of a tiny model that has learnt sums: SFT, DPO, GRPO and RLOO, whole and LoRA, with and without KL.
What is spoilt in a run is told by its name (`SPOILT` in the tool): a reward that pays for length or form, prompts that
are too hard or too easy, a learning rate or a `beta` that is wrong, and so on. Each was made with two seeds.
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.catalogue.problem import INFO
from doctor.catalogue.rules import RuleEngine, load_rules
from doctor.catalogue.series import Point
from doctor.logs.metrics.steps import read_lines

RUNS = sorted((Path(__file__).parent / "runs").glob("*.log.gz"))
RULES = load_rules()

#: what is spoilt -> problems by any of which it is named. A rate that is too high shows as a leap of the KL or, where
#: there is none, as a reward that is gone
NAMED = {
    "length": {"RLX016", "RLX011"}, "length-and-right": {"RLX016"}, "form": {"RLX008", "RLX010"}, "gap": {"RLX016"},
    "too-hard": {"RLX008", "RLX010"}, "too-easy": {"RLX010"}, "rate": {"RLX004"},
    "rate-no-kl": {"RLX008", "RLX010", "RLX011", "RLX005"}, "beta-size": {"RLX7581"}, "beta-sign": {"RLX7581"},
    "entropy": {"RLX005"}, "clipped": {"RLX005", "RLX013"}, "spikes": {"NUM008"}, "own-reference": {"RLX7581"},
    "shuffled": {"NUM016"}, "constant-component": {"RLX008"},
}  # fmt: skip


def points(path: Path) -> list[Point]:
    return list(read_lines(gzip.decompress(path.read_bytes()).splitlines(), path.name))


def found(told: list[Point]) -> set[str]:
    engine = RuleEngine(RULES)
    engine.feed_all(told)
    engine.close()
    assert not engine.crashed
    return {each.problem.id for each in engine.findings if each.severity is not INFO or each.problem.id == "RLX016"}


def spoilt_by(path: Path) -> str:
    return path.name.removeprefix("spoilt-").removesuffix(".log.gz").rpartition("-")[0]


HEALTHY = [each for each in RUNS if each.name.startswith("healthy-")]
SPOILT = [each for each in RUNS if each.name.startswith("spoilt-")]


def test_there_are_runs_enough() -> None:
    assert len(HEALTHY) >= 12
    assert {spoilt_by(each) for each in SPOILT} == set(NAMED)
    assert all(sum(spoilt_by(each) == name for each in SPOILT) >= 2 for name in NAMED)


@pytest.mark.parametrize("path", HEALTHY, ids=lambda each: each.name)
def test_a_run_that_is_well_is_not_accused(path: Path) -> None:
    assert found(points(path)) == set()


def _cut(told: list[Point]) -> Iterator[list[Point]]:
    """The same run, cut off at any step, and one that logs every other step only."""
    last = max(each.step or 0 for each in told)
    for step in random.Random(1).sample(range(2, last), 8):  # noqa: S311
        yield [each for each in told if (each.step or 0) <= step]
    yield [each for each in told if (each.step or 0) % 2]


@pytest.mark.parametrize("path", HEALTHY, ids=lambda each: each.name)
def test_nor_is_a_part_of_it(path: Path) -> None:
    for part in _cut(points(path)):
        assert found(part) == set()


@pytest.mark.parametrize("path", SPOILT, ids=lambda each: each.name)
def test_what_is_spoilt_is_named(path: Path) -> None:
    assert found(points(path)) & NAMED[spoilt_by(path)]

"""Who is slow, from random measurements: healthy ones name nobody, a slow node and a slow link are named."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable

import pytest

from doctor.base.outliers import PairCost, Slow, best_of, noise, slow_pairs, slow_points, slow_values, suspicious

REPEATS = 3
STALL = 0.05  # share of measurements that something else on the machine makes 1.5 to 4 times slower


def measured(
    nodes: int, sigma: float, seed: int, *, slow: frozenset[int] = frozenset(), link: frozenset[int] = frozenset()
) -> list[PairCost]:
    """All pairs, the suspicious ones measured again as the measuring processes do; who is slow is so eight times."""
    luck = random.Random(seed)  # noqa: S311

    def pair(a: int, b: int) -> PairCost:
        cost = 1e-9 * (8 if {a, b} & slow or {a, b} == link else 1) * math.exp(luck.gauss(0, sigma))
        if luck.random() < STALL:
            cost *= luck.uniform(1.5, 4)
        return PairCost(a, b, cost, abs(luck.gauss(sigma, sigma / 3)) / 2)

    first = [pair(a, b) for a in range(nodes) for b in range(a)]
    again = [pair(int(str(each.a)), int(str(each.b))) for _ in range(REPEATS) for each in suspicious(first)]
    return best_of(first + again)


def names(slow: list[Slow]) -> list[Hashable]:
    return [each.who for each in slow]


@pytest.mark.parametrize("nodes", [3, 4, 5, 8, 16])
def test_a_thousand_healthy_draws_name_nobody(nodes: int) -> None:
    draws = 1000 if nodes < 16 else 100
    for seed in range(draws):
        samples = measured(nodes, 0.02 + 0.13 * seed / draws, seed)
        assert not slow_points(samples), seed
        assert not slow_pairs(samples), seed


@pytest.mark.parametrize("nodes", [3, 4, 5, 8, 32])
def test_the_slow_node_is_named_and_no_other(nodes: int) -> None:
    for seed in range(20):
        assert names(slow_points(measured(nodes, 0.1, seed, slow=frozenset({1})))) == [1], seed


def test_two_slow_nodes_of_eight_are_both_named() -> None:
    for seed in range(20):
        assert set(names(slow_points(measured(8, 0.05, seed, slow=frozenset({2, 5}))))) == {2, 5}


def test_the_slow_link_is_named_and_neither_of_its_ends() -> None:
    for seed in range(20):
        samples = measured(8, 0.05, seed, link=frozenset({2, 5}))
        assert not slow_points(samples)
        assert [set(each.who) for each in slow_pairs(samples)] == [{2, 5}]


def test_half_of_the_nodes_slow_is_nobodys_exception() -> None:
    assert not slow_points(measured(4, 0.02, 1, slow=frozenset({0, 1})))


def test_two_switches_with_a_thin_link_between_them_are_how_the_network_is_built() -> None:
    samples = [PairCost(a, b, 1.0 if (a < 4) == (b < 4) else 3.0) for a in range(8) for b in range(a)]
    assert not slow_points(samples)
    assert not slow_pairs(samples)


def test_one_pair_cannot_be_compared() -> None:
    assert not slow_points([PairCost(0, 1, 5.0)])
    assert not slow_points([])


def test_a_sample_of_rounds_is_enough() -> None:
    """Of 64 nodes each meets twelve others."""
    luck = random.Random(3)  # noqa: S311
    partners = [(a, (a + step) % 64) for a in range(64) for step in (1, 2, 4, 8, 16, 31)]
    samples = [PairCost(a, b, (3.0 if 7 in (a, b) else 1.0) * math.exp(luck.gauss(0, 0.05))) for a, b in partners]
    assert names(slow_points(samples)) == [7]


def test_noise_within_a_measurement_counts() -> None:
    calm = [PairCost(a, b, 3.0 if 2 in (a, b) else 1.0, 0.02) for a in range(4) for b in range(a)]
    assert names(slow_points(calm)) == [2]
    assert not slow_points([each._replace(spread=0.5) for each in calm])
    assert noise([PairCost(0, 1, 1.0, 0.5)]) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("costs", "slow"),
    [((1.0, 1.1, 0.95, 2.0), [3]), ((1.0, 1.1, 0.95, 1.3), []), ((1.0, 2.0), []), ((1.0, 1.0, 2.0, 2.0), [])],
)
def test_values_without_pairs(costs: tuple[float, ...], slow: list[int]) -> None:
    found = slow_values([PairCost(at, None, cost, 0.01) for at, cost in enumerate(costs)], factor=4 / 3)
    assert names(found) == slow


def test_what_is_suspicious() -> None:
    many = [PairCost(0, b, 1.0) for b in range(1, 20)] + [PairCost(0, 20, 1.5), PairCost(0, 21, 9.0)]
    assert [each.b for each in suspicious(many)] == [21, 20]
    few: Callable[[int], PairCost] = lambda b: PairCost(0, b, 1.0)  # noqa: E731
    assert len(suspicious([few(b) for b in range(1, 6)])) == 5

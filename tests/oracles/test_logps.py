"""Log probabilities of two sides: levels, noise, places, and the same answer for lists, NumPy and torch."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.oracles import (
    BROKEN,
    DOUBTFUL,
    HOLDS,
    UNSEEN,
    effective_sample_size,
    logp_agreement,
    renormalised,
    repeat_noise,
    same_path,
    tempered,
)

numpy = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

Rows = list[list[float]]


def generator(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311


def sampled(seed: int, sequences: int = 8, length: int = 64) -> Rows:
    """Log probabilities as a model of mean entropy 0.7 samples them."""
    source = generator(seed)
    return [[-source.expovariate(1.4) for _ in range(length)] for _ in range(sequences)]


def with_noise(logps: Rows, size: float, seed: int) -> Rows:
    source = generator(seed)
    return [[each + source.gauss(0.0, size) for each in row] for row in logps]


finite_rows = st.integers(1, 5).flatmap(
    lambda width: st.lists(
        st.lists(st.floats(-30, 0, allow_nan=False), min_size=width, max_size=width), min_size=2, max_size=6
    )
)


@given(finite_rows, st.integers(0, 1000), st.floats(0, 2))
def test_lists_numpy_and_torch_give_one_answer(logps: Rows, seed: int, size: float) -> None:
    other = with_noise(logps, size, seed)
    mask = [[float(generator(seed).random() < 0.8) for _ in row] for row in logps]
    names = [["text" if at % 2 else "special" for at, _ in enumerate(row)] for row in logps]
    answers = []
    for make in (list, numpy.array, lambda rows: torch.tensor(rows, dtype=torch.float64)):
        answers.append(logp_agreement(make(logps), make(other), make(mask), classes=names).as_dict())
        answers.append(effective_sample_size(make(other), make(mask)).as_dict())
        answers.append(renormalised(make(logps), make(other)).as_dict())
    for at in range(3):
        assert _near(answers[at], answers[3 + at])
        assert _near(answers[at], answers[6 + at])


def _near(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_near(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_near, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)
    return one == other if not isinstance(one, str) else isinstance(other, str)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("precision", "size"), [("bfloat16", 0.018), ("float16", 0.003), ("float32", 1e-5)])
def test_the_noise_of_a_precision_holds(seed: int, precision: str, size: float) -> None:
    logps = sampled(seed, length=32 + 40 * (seed % 4))
    verdict = logp_agreement(logps, with_noise(logps, size, seed), before=0.8 * size, precision=precision)
    assert verdict.state is HOLDS, verdict
    assert renormalised(logps, with_noise(logps, size, seed)).state in (HOLDS, UNSEEN)


@pytest.mark.parametrize("seed", range(10))
def test_three_times_the_gap_of_the_start_is_a_broken_reload(seed: int) -> None:
    logps = sampled(seed)
    verdict = logp_agreement(logps, with_noise(logps, 0.06, seed), before=0.01, precision="bfloat16")
    assert verdict.state is BROKEN
    assert verdict.limit == pytest.approx(0.03)
    assert "before the first update" in verdict.reason


def test_the_levels_of_the_field() -> None:
    logps = sampled(1)
    assert logp_agreement(logps, with_noise(logps, 0.2, 2)).state is BROKEN
    slightly = [[each - 0.06 for each in row] for row in logps]
    verdict = logp_agreement(logps, slightly)
    assert verdict.state is DOUBTFUL
    assert verdict.details["mean_ratio"] == pytest.approx(math.exp(0.06))
    assert logp_agreement(logps, with_noise(logps, 0.012, 3), precision="float32").state is DOUBTFUL


@pytest.mark.parametrize("seed", range(5))
def test_a_gap_that_grows_with_the_position(seed: int) -> None:
    logps = sampled(seed, 8, 256)
    source = generator(seed)
    drifting = [[each + source.gauss(0.0, 0.004 + 0.06 * at / 256) for at, each in enumerate(row)] for row in logps]
    verdict = logp_agreement(logps, drifting)
    assert verdict.details.get("grows")
    assert verdict.state is DOUBTFUL


def test_the_class_that_differs_is_shown() -> None:
    logps = sampled(3, 4, 32)
    names = [["special" if at % 8 == 0 else "text" for at in range(32)] for _ in logps]
    other = [[each - (0.9 if at % 8 == 0 else 0.0) for at, each in enumerate(row)] for row in logps]
    classes = logp_agreement(logps, other, classes=names).details["classes"]
    assert classes["special"] == pytest.approx(0.9)
    assert classes["text"] == pytest.approx(0.0)


@pytest.mark.parametrize("kept", [0.8, 0.9, 0.95])
@pytest.mark.parametrize("seed", range(4))
def test_a_cut_distribution_gives_every_token_more(kept: float, seed: int) -> None:
    source = generator(seed)
    logps = sampled(seed, 4, 40)
    cut = [
        [each - math.log(kept + (1 - kept) * source.random()) + source.gauss(0, 0.002) for each in row] for row in logps
    ]
    verdict = renormalised(logps, cut)
    assert verdict.state is BROKEN
    assert kept <= verdict.details["kept_mass"] < 1


def test_restless_engines_widen_the_limits() -> None:
    logps = sampled(5)
    noise = repeat_noise(with_noise(logps, 0.03, 1), with_noise(logps, 0.03, 2))
    assert same_path(with_noise(logps, 0.03, 3), with_noise(logps, 0.03, 4), noise=noise.value).state is HOLDS
    assert same_path(logps, with_noise(logps, 0.03, 4), noise=0.0, precision="float32").state is BROKEN
    stale = [[each - 0.02 for each in row] for row in logps]
    assert same_path(logps, stale, precision="bfloat16").state is HOLDS
    assert same_path(logps, stale, precision="bfloat16", before=0.001).state is BROKEN
    assert same_path(logps, stale, precision="bfloat16", before=0.01).state is HOLDS, "it is no more than it was"


@pytest.mark.parametrize("unknown", [None, math.nan, -math.inf])
def test_what_a_side_does_not_know_is_left_out_and_counted(unknown: float | None) -> None:
    row: list[Any] = [-1.0] * 20
    verdict = logp_agreement([row], [[unknown, *row[1:]]])
    assert (verdict.state, verdict.details["missing"]) == (HOLDS, 1)


def test_too_little_proves_nothing() -> None:
    assert logp_agreement([[-1.0]], [[-9.0]]).state is UNSEEN
    assert logp_agreement([[]], [[]]).state is UNSEEN
    with pytest.raises(ValueError, match="different lengths"):
        logp_agreement([[-1.0] * 9], [[-1.0] * 8])
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(logp_agreement([[-1.0]], [[-9.0]]))


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=50))
def test_the_effective_share_lies_between_one_sample_and_all(ratios: list[float]) -> None:
    value = effective_sample_size(ratios).value
    assert 1 / len(ratios) - 1e-9 <= value <= 1 + 1e-9


def drawn(temperature: float, seed: int, size: int = 400) -> tuple[list[float], list[float]]:
    """What a learner at temperature 1 and a sampler at another one give the tokens that the sampler drew."""
    source, learner, sampler = random.Random(seed), [], []  # noqa: S311
    for _ in range(size):
        logits = [source.gauss(0, 2) for _ in range(40)]
        colder = [each / temperature for each in logits]
        chosen = source.choices(range(40), [math.exp(each) for each in colder])[0]
        for of, into in ((logits, learner), (colder, sampler)):
            into.append(of[chosen] - math.log(sum(math.exp(each) for each in of)))
    return learner, sampler


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("temperature", [0.5, 0.7, 1.4, 2.0])
def test_another_temperature_is_seen_though_each_place_has_a_normaliser_of_its_own(
    temperature: float, seed: int
) -> None:
    verdict = tempered(*drawn(temperature, seed))
    assert verdict.state is BROKEN
    assert (verdict.value > 1) == (temperature < 1)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("size", [0.02, 0.2, 1.0])
def test_scatter_alone_is_no_other_temperature(size: float, seed: int) -> None:
    source, (learner, _) = random.Random(seed), drawn(1.0, seed + 100, 128)  # noqa: S311
    assert tempered(learner, [each + source.gauss(0, size) for each in learner]).state is not BROKEN

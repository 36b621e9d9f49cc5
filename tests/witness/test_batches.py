"""The witness by batches alone: what it names, what it leaves unnamed, and when it looks."""

from __future__ import annotations

import random

import pytest

from doctor.catalogue.problem import ERROR, WARNING
from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.options import Options
from doctor.monitors.witness.batches import BatchWitness, Rollouts, Sampling, judge_rollouts, spread
from doctor.oracles.verdict import BROKEN, HOLDS

ROWS, TOKENS = 8, 40


def logps(seed: int) -> list[list[float]]:
    source = random.Random(seed)  # noqa: S311 - no secret
    return [[-source.expovariate(1.0) for _ in range(TOKENS)] for _ in range(ROWS)]


def moved(values: list[list[float]], gap: float, seed: int = 1) -> list[list[float]]:
    source = random.Random(seed)  # noqa: S311 - no secret
    return [[each + source.gauss(0.0, gap) for each in row] for row in values]


def rollouts(trained, sampled, versions=()) -> Rollouts:
    return Rollouts(trained, sampled, [[1.0] * TOKENS] * ROWS, versions)


def headlines(judged) -> list[str]:
    return [each.words("en").headline for each in judged.findings]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("noise", [0.0, 0.003, 0.02])
def test_a_right_run_is_quiet(seed: int, noise: float) -> None:
    trained = logps(seed)
    judged = judge_rollouts(rollouts(trained, moved(trained, noise, seed), [3] * ROWS), 3, Sampling())
    assert not judged.findings
    assert {name: each.state for name, each in judged.verdicts.items()} == {"version": HOLDS, "batch": HOLDS}


def test_a_gap_is_told_without_saying_which_side_is_wrong() -> None:
    judged = judge_rollouts(rollouts(logps(1), logps(2)), 4, Sampling(1.0, cut=False))
    (headline,) = headlines(judged)
    assert headline.startswith("Engine and trainer differ by")
    assert judged.findings[0].severity is ERROR
    assert "cannot tell which" in judged.findings[0].words("en").explanation


def test_versions_name_the_step_of_the_weights() -> None:
    trained = logps(1)
    judged = judge_rollouts(rollouts(trained, moved(trained, 0.3), [2, 2, None, 4, 4, 4, 4, 4]), 4, Sampling())
    assert headlines(judged) == ["At step 4 29% of the samples are of the weights of step 2"]
    assert judged.verdicts["batch"].state is BROKEN  # told once, by what says more


def test_values_of_a_version_to_come_are_no_old_weights() -> None:
    judged = judge_rollouts(rollouts(logps(1), logps(1), [5] * ROWS), 4, Sampling())
    assert not judged.findings


@pytest.mark.parametrize(("offset", "told"), [(1, "-1"), (-1, "+1")])
def test_values_of_the_neighbours(offset: int, told: str) -> None:
    trained = logps(3)
    sampled = [[0.0, *row[:-1]] if offset > 0 else [*row[1:], 0.0] for row in trained]
    judged = judge_rollouts(rollouts(trained, sampled), 0, Sampling())
    assert headlines(judged) == [f"At step 0 the engine's log probabilities belong to the tokens at offset {told}"]


@pytest.mark.parametrize(
    ("sampling", "named"),
    [
        (Sampling(0.6, cut=False), "Sampled log probabilities have another temperature"),
        (Sampling(1.0, cut=False), "Engine and trainer differ by"),
        (Sampling(0.95, cut=False), "Engine and trainer differ by"),
        (Sampling(), "Engine and trainer differ by"),
    ],
)
def test_a_temperature_is_named_only_where_the_settings_have_it(sampling: Sampling, named: str) -> None:
    trained = logps(4)
    judged = judge_rollouts(rollouts(trained, [[each * 0.6 for each in row] for row in trained]), 2, sampling)
    assert headlines(judged)[0].startswith(named)


@pytest.mark.parametrize(("cut", "gain", "named"), [
    (True, 0.2, "Sampled log probabilities are renormalized"),
    (False, 0.2, "Engine and trainer differ by"),
    (True, 2.0, "Engine and trainer differ by"),  # no cut leaves so little
])  # fmt: skip
def test_a_cut_is_named_only_where_the_settings_have_it(cut: bool, gain: float, named: str) -> None:
    trained = logps(5)
    judged = judge_rollouts(
        rollouts(trained, [[each + gain for each in row] for row in trained]), 2, Sampling(1.0, cut)
    )
    assert headlines(judged)[0].startswith(named)


def witness(**settings: object) -> BatchWitness:
    guard = Guard(Options(trackers=False, lang="en"), rank=0, world_size=1)
    return BatchWitness(guard, Sampling(), **settings)  # type: ignore[arg-type]


def looked(told: BatchWitness, step: int, gap: float) -> None:
    trained = logps(step)
    told.look(rollouts(trained, moved(trained, gap, step)), step, 0.0)
    told.spent_s = 0.0


def test_it_looks_at_the_first_batches_and_then_at_every_fiftieth() -> None:
    told = witness()
    seen = []
    for step in range(160):
        if told.wants(step):
            seen.append(step)
            looked(told, step, 0.001)
    assert seen == [0, 1, 2, 3, 53, 103, 153]
    assert not told.guard.findings


def test_it_looks_no_more_where_that_took_too_long() -> None:
    told = witness()
    for step in range(4):
        looked(told, step, 0.001)
    told.spent_s = 1e6
    assert not told.wants(100)


def test_a_small_gap_is_told_when_it_has_come_twice_and_once_while_it_lasts(capsys) -> None:
    told = witness()
    looked(told, 0, 0.001)
    for step, count in [(1, 0), (2, 1), (3, 1)]:
        looked(told, step, 0.045)
        assert len(told.guard.findings) == count
    assert told.guard.findings[0].severity is WARNING
    looked(told, 4, 0.001)
    looked(told, 5, 0.045)
    assert told.wants(6)  # what is in doubt is looked at again at once
    looked(told, 6, 0.045)
    assert len(told.guard.findings) == 2
    assert "WIT9046" in capsys.readouterr().err


def test_a_resumed_run_has_no_gap_of_before() -> None:
    told = witness()
    for step in (20, 21, 22):
        looked(told, step, 0.045)
    assert not told.guard.findings


def test_what_fails_switches_it_off(capsys) -> None:
    told = witness()
    told.look(rollouts([[0.0]], [[0.0, 1.0]]), 0, 0.0)
    assert told.off == "the witness failed"
    assert not told.wants(1)
    assert "the run goes on" in capsys.readouterr().err


def test_rows_are_taken_from_all_over_a_batch() -> None:
    rows = spread(1000)
    assert len(rows) == 64
    assert rows[0] == 0
    assert rows[-1] > 950

"""Rows fed by the hundred give what their points give one by one: the same findings, in the same order."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path

import pytest

from doctor.catalogue import columns
from doctor.catalogue.columns import MetricRow
from doctor.catalogue.finding import Finding
from doctor.catalogue.rules import RuleEngine, load_rules
from doctor.catalogue.series import Point
from tests.case_files import read_cases
from tests.each import for_each
from tests.rules.series_cases import points_of

CASES = [
    (f"{file.stem}-{name}", case)
    for file in sorted(Path(__file__).parent.glob("*.yaml"))
    for name, case in read_cases(file).items()
]

RULES = load_rules()

#: metric -> what it is in a run that is well, and what it may come to
USUAL = {
    "rewards/format_reward/mean": 0.8, "rewards/accuracy_reward/mean": 0.4, "rewards/accuracy_reward/std": 0.3,
    "reward": 1.2, "reward_std": 0.3, "frac_reward_zero_std": 0.1, "loss": 0.02, "grad_norm": 0.5,
    "learning_rate": 1e-6, "kl": 0.05, "entropy": 0.7, "completions/mean_length": 250.0,
    "completions/clipped_ratio": 0.1, "clip_ratio/region_mean": 0.02, "step_time": 12.0,
    "sampling/sampling_logp_difference/mean": 0.01, "sampling/importance_sampling_ratio/mean": 1.0,
    "weights/update_time": 1.6,
}  # fmt: skip
SERVER = {"vllm/generation_tokens_per_s": 900.0, "vllm/running": 16.0, "vllm/kv_cache_usage": 0.4}
ODD = (math.nan, math.inf, -math.inf, 0.0, -1.0, 1e300, 1e-12)


def everything_said(engine: RuleEngine) -> list[Finding]:
    engine.close()
    assert not engine.crashed
    return [each for each, _ in engine._found] + engine.findings


def by_points(rows: list[MetricRow]) -> list[Finding]:
    engine = RuleEngine(RULES)
    engine.feed_all(point for row in rows for point in columns.points_of(row))
    return everything_said(engine)


def feed(engine: RuleEngine, rows: list[MetricRow]) -> None:
    for together in columns.stretches(rows):
        engine.feed_stretch(columns.Stretch(together))


def by_rows(rows: list[MetricRow]) -> list[Finding]:
    engine = RuleEngine(RULES)
    feed(engine, rows)
    return everything_said(engine)


def rows_of_case(case: dict) -> Iterator[MetricRow]:
    for (step, rank), told in groupby(points_of(case), key=lambda point: (point.step, point.rank)):
        row = list(told)
        yield MetricRow(step, tuple(p.name for p in row), tuple(p.value for p in row), row[0].t_ns, rank, row[0].source)


@for_each("case", CASES)
def test_every_case_of_a_rule(case: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = list(rows_of_case(case))
    said = by_points(rows)
    assert bool(said) == ("found" in case) or "silent" in case
    for most in (7, 1000):
        with monkeypatch.context() as patched:
            patched.setattr(columns, "MOST_ROWS", most)
            assert by_rows(rows) == said


class Run:
    """A run whose metrics scatter, drift, stand still and go mad for a while, each by itself."""

    def __init__(self, seed: int, usual: dict[str, float] = USUAL) -> None:
        self.random = random.Random(seed)  # noqa: S311
        self.usual = usual
        self.names = [name for name in usual if self.random.random() < 0.9] or ["loss"]
        self.level = dict(usual)
        self.noise = {name: self.random.choice((0.0, 0.02, 0.3)) for name in usual}
        self.odd: dict[str, float] = {}

    def rows(self) -> Iterator[MetricRow]:
        pick, step, rank = self.random, 0, self.random.choice((None, 0))
        for number in range(500):
            step += 1
            if pick.random() < 0.04:
                self.change()
            if pick.random() < 0.002:
                step = max(0, step - pick.randrange(60))  # begun anew from a checkpoint
            names = tuple(name for name in self.names if pick.random() < 0.998)
            if pick.random() < 0.005:
                names = tuple(pick.sample(names, len(names)))
            values = tuple(self.value(name) for name in names)
            yield MetricRow(step, names, values, number, 1 if pick.random() < 0.002 else rank, f"a.log:{number}")

    def change(self) -> None:
        name = self.random.choice(self.names)
        what = self.random.random()
        if what < 0.4:
            self.level[name] *= self.random.choice((0.0, 0.01, 0.3, 3.0, 30.0))
        elif what < 0.7:
            self.odd[name] = self.random.choice(ODD)
        else:
            self.level[name], self.noise[name] = self.usual[name], self.random.choice((0.0, 0.02, 0.3))
            self.odd.clear()

    def value(self, name: str) -> float:
        if name in self.odd and self.random.random() < 0.7:
            return self.odd[name]
        return self.level[name] * math.exp(self.random.gauss(0, self.noise[name]))


@pytest.mark.parametrize("seed", range(6))
def test_runs_in_which_everything_happens(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = list(Run(seed).rows())
    said = by_points(rows)
    assert said
    for most in (random.Random(seed).randrange(2, 90), 1024):  # noqa: S311
        monkeypatch.setattr(columns, "MOST_ROWS", most)
        assert by_rows(rows) == said


def test_servers_to_which_everything_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    alarms = 0
    for seed in range(8):
        rows = list(Run(seed, SERVER).rows())
        said = by_points(rows)
        alarms += bool(said)
        for most in (random.Random(seed).randrange(2, 90), 1024):  # noqa: S311
            monkeypatch.setattr(columns, "MOST_ROWS", most)
            assert by_rows(rows) == said
    assert alarms


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_times_of_weight_updates_are_taken_in_as_they_are_judged_one_by_one(share: float) -> None:
    """All fast, or as slow as was told; then the other kind, an update that is not told, and a time of 0."""
    pick, names, rows = random.Random(5), ("weights/update_time", "step_time"), []  # noqa: S311
    for step in range(6000):
        now = 1 - share if 2500 < step < 2600 else share
        whole = 0.0 if step == 4000 else 60 * math.exp(pick.gauss(0, 0.02))
        rows.append(MetricRow(step, names, (now * whole, whole), None, None, f"a.log:{step}"))
        if step in (1500, 5000):
            rows.append(MetricRow(step, names[1:], (whole,), None, None, f"a.log:{step}"))
    said = by_points(rows)
    assert [each.problem.id for each in said]
    assert by_rows(rows) == said


def test_a_server_between_the_rows_of_its_trainer() -> None:
    pick, rows, now = random.Random(5), [], 0  # noqa: S311
    for step in range(400):
        rows.append(MetricRow(step, ("loss", "step_time"), (0.5, 60.0)))
        for _ in range(pick.randrange(4)):
            now += pick.choice((10, 10, 200)) * 10**9
            rows.append(MetricRow(None, tuple(SERVER), tuple(SERVER.values()), now, None, f"a.log:{now}"))
    said = by_points(rows)
    assert "PRF010" in {each.problem.id for each in said}
    assert by_rows(rows) == said


def test_rules_that_see_a_calm_run_are_not_asked_about_its_points(monkeypatch: pytest.MonkeyPatch) -> None:
    pick, per_rule = random.Random(3), Counter[type]()  # noqa: S311
    names = tuple(name for name in USUAL if name != "frac_reward_zero_std")
    rows = [
        MetricRow(step, names, tuple(USUAL[name] * math.exp(pick.gauss(0, 0.05)) for name in names))
        for step in range(8000)
    ]
    ask = RuleEngine._ask

    def counted(self, wanted, stretch):
        runners = {each.number: each for of_name in wanted.values() for each in of_name}
        per_rule.update({type(each.rule): len(stretch.rows) for each in runners.values() if hasattr(each.rule, "calm")})
        return ask(self, wanted, stretch)

    monkeypatch.setattr(RuleEngine, "_ask", counted)
    engine = RuleEngine(RULES)
    feed(engine, rows)
    assert max(per_rule.values()) <= len(rows) // 2, per_rule
    assert sum(per_rule.values()) < columns.MOST_ROWS // 2 * len(per_rule), per_rule


def test_a_server_that_is_steadily_busy_is_taken_in_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pick, asked = random.Random(3), Counter[str]()  # noqa: S311
    names = tuple(SERVER)
    rows = [
        MetricRow(None, names, tuple(SERVER[name] * math.exp(pick.gauss(0, 0.05)) for name in names), number)
        for number in range(4000)
    ]
    ask = RuleEngine._ask

    def counted(self, wanted, stretch):
        runners = {each.number: each for of_name in wanted.values() for each in of_name}
        asked.update({each.problem.id: len(stretch.rows) for each in runners.values()})
        return ask(self, wanted, stretch)

    monkeypatch.setattr(RuleEngine, "_ask", counted)
    said = by_rows(rows)
    assert 0 < asked["PRF014"] < columns.MOST_ROWS  # no more than the first stretch, of which the beginning is known
    assert said == by_points(rows)


def test_ranks_take_turns() -> None:
    points = [
        Point("grad_norm", math.nan if step == 7 else 1.0, step, rank=rank) for step in range(20) for rank in (0, 1)
    ]
    rows = [MetricRow(p.step, (p.name,), (p.value,), p.t_ns, p.rank, p.source) for p in points]
    assert by_rows(rows) == by_points(rows)
    assert {each.where.rank for each in by_rows(rows)} == {0}


def test_rows_are_cut_where_the_rank_changes_and_where_a_step_goes_back() -> None:
    rows = [MetricRow(step, ("loss",), (1.0,), rank=rank) for step, rank in ((1, 0), (2, 0), (2, 1), (None, 1), (1, 1))]
    assert [len(each) for each in columns.stretches(rows)] == [2, 2, 1]


def test_columns_of_rows_of_several_kinds_keep_the_order() -> None:
    rows = [MetricRow(step, names, tuple(map(float, range(len(names))))) for step, names in
            ((1, ("a", "b")), (2, ("b", "c")), (3, ("a", "b")))]  # fmt: skip
    stretch = columns.Stretch(rows)
    assert not stretch.alike
    assert [(name, list(each.steps), list(each.values)) for name, each in stretch.columns.items()] == [
        ("a", [1, 3], [0.0, 0.0]), ("b", [1, 2, 3], [1.0, 0.0, 1.0]), ("c", [2], [1.0]),
    ]  # fmt: skip
    assert [point.step for point in islice(stretch.points(("b",), rows=2), 2)] == [2, 3]
    assert stretch.last("c").step == 2
    assert not stretch["absent"].values

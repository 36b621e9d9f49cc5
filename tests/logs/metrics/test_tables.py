"""Metric lines kept as columns say what the rows say that they are made into."""

from __future__ import annotations

import random
from array import array

import pytest

from doctor.catalogue.columns import MetricRow, Stretch
from doctor.logs.match.matcher import Matcher, scan_text
from doctor.logs.metrics import lines as metric_lines
from doctor.logs.metrics.bars import bar_before, bar_behind, last_bar, look_behind
from doctor.logs.metrics.lines import MetricLines
from doctor.logs.metrics.tables import Table, TableStretch, rows_by_kind, values_at

#: kinds of rows, of which two share metrics and one stands without a row
KINDS = [("loss", "kl", "reward"), ("vllm/running",), ("reward", "val/score", "loss"), ("nobody/asks",)]


def table_of(seed: int, ranked: bool) -> Table:
    pick = random.Random(seed)  # noqa: S311
    kind = [pick.choice((0, 0, 0, 1, 2)[: 1 + 2 * (seed % 3)]) for _ in range(90)]
    values = [
        array("d", [pick.random() for _ in range(kind.count(number) * len(names))])
        for number, names in enumerate(KINDS)
    ]
    steps = [None if own == 1 else at for at, own in enumerate(kind)]
    times = [at * 10 if own else None for at, own in enumerate(kind)] if seed % 2 else None
    ranks = [pick.choice((0, 1)) for _ in kind] if ranked else None
    return Table(KINDS, kind, values, steps, times, ranks, 3, "a.log", list(range(1, 91)))


def said(stretch: Stretch) -> list[object]:
    columns = {
        name: (list(each.steps), list(each.values), each.finite, each.low, each.high)
        for name, each in stretch.columns.items()
    }
    return [stretch.alike, list(columns.items()), *stretch.points(("reward", "vllm/running"), rows=5)]


@pytest.mark.parametrize("seed", range(12))
def test_a_table_is_the_stretch_of_its_rows(seed: int) -> None:
    table = table_of(seed, ranked=False)
    rows, together = list(table), TableStretch(table)
    assert len(rows) == len(table) == 90
    assert said(together) == said(Stretch(rows))
    for names in (("vllm/running",), ("reward",), ("val/score", "kl"), ("unknown",)):
        assert said(together.telling(names)) == said(Stretch(rows).telling(names))
    for names in (("vllm/running",), ("reward",), ("val/score", "kl")):
        asked = list(together.numbered(names))
        assert [rows[at] for at, _ in asked] == [row for _, row in asked]
        assert {at for at, row in enumerate(rows) if not set(row.names).isdisjoint(names)} <= {at for at, _ in asked}
    assert {name: together.last(name) for name in together.columns} == {
        name: Stretch(rows).last(name) for name in together.columns
    }


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ranked", [True, False])
def test_rows_are_made_where_they_are_asked_for(seed: int, ranked: bool) -> None:
    table = table_of(seed, ranked)
    rows = list(table)
    assert [table[at] for at in range(90)] == [table[at - 90] for at in range(90)] == rows
    assert all(isinstance(each, MetricRow) and len(each.names) == len(each.values) for each in rows)
    for part in (slice(1, None), slice(-3, None), slice(80, 2, -7), slice(5, 5)):
        assert table[part] == rows[part]
    with pytest.raises(IndexError):
        table[90]


@pytest.mark.parametrize("seed", range(6))
def test_values_of_some_lines_are_those_of_their_rows(seed: int) -> None:
    table = table_of(seed, ranked=False)
    rows = rows_by_kind(table.kinds, table.kind, table.values)
    for places in (range(90), [], [at for at, own in enumerate(table.kind) if own != 1], list(range(0, 90, 3))):
        some = values_at(table.kinds, table.kind, table.values, places)
        assert rows_by_kind(table.kinds, [table.kind[at] for at in places], some) == [rows[at] for at in places]


@pytest.mark.parametrize("seed", range(6))
def test_a_table_comes_apart_where_its_rows_do(seed: int) -> None:
    rows = list(table := table_of(seed, ranked=False))
    for at in (1, 20, 89):
        parts = TableStretch(table).parted(at)
        assert [said(each) for each in parts] == [said(Stretch(rows[:at])), said(Stretch(rows[at:]))]
        assert [row for each in parts for row in each.rows] == rows


def test_what_is_no_stretch() -> None:
    table = table_of(0, ranked=False)
    assert table.is_stretch
    assert not table_of(0, ranked=True).is_stretch
    table.steps[40] = 7
    assert not table.is_stretch


#: lines between which bars stand, are cleared and drawn again, near and far, with and without names
AROUND = (
    b"{'loss': 0.5, 'grad_norm': 1.0, 'kl': 0.1, 'entropy': 0.2, 'reward': 1, 'epoch': 0.1}\n", b"step:3 - kl:1.0 - loss:2\n",
    b"\r 12%|#  | 3/40 [00:01<00:02,  2.00it/s]", b"\n 15%|#  | 6/40 [00:01<00:02,  2.00it/s]\r", b"\r" + b" " * 60 + b"\r",
    b"Loading:  50%|##| 1/2 [00:00<00:00, 2.0it/s]\n", b"words " * 40 + b"\n", b"\r\n", b"{'loss': 1, 'kl': 2}\n", b"x" * 290 + b"%|",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_bars_around_a_line_are_found_where_they_stand(seed: int) -> None:
    pick = random.Random(seed)  # noqa: S311
    data = b"".join(pick.choices(AROUND, k=400)) + b"\n" * 1200
    for start in [at for at in range(301, len(data) - 1001) if data.startswith((b"{'", b"step:"), at)]:
        end = data.index(b"\n", start)
        assert bar_before(data, start, 300) == last_bar(data[start - 300 : start], cut=True)
        assert bar_behind(data, end, 1000) == look_behind(data[end : end + 1000])


@pytest.mark.parametrize("seed", range(4))
def test_lines_are_taken_where_they_stand_as_they_are_one_by_one(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pick = random.Random(seed)  # noqa: S311
    data = b"".join(pick.choices(AROUND, k=1500))
    matcher = Matcher([], [metric_lines.probe(lambda: MetricLines(""))])

    def told() -> list[object]:
        found = scan_text(matcher, [data[at : at + 50_000] for at in range(0, len(data), 50_000)])
        return [each for rows in found.collected[metric_lines.METRICS][0] for each in rows]

    there = told()
    monkeypatch.delattr(MetricLines, "take_at")
    assert len(there) > 200
    assert told() == there

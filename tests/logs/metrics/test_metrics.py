"""Metric lines of every stack, genuine where we have them, and the files that hold metrics."""

from __future__ import annotations

import io
import json
import math
import random
import re
import tracemalloc
from pathlib import Path

import pytest

from doctor.catalogue.columns import Column, MetricRow, Stretch, points_of, stretches
from doctor.catalogue.rules import RuleEngine, load_rules
from doctor.catalogue.series import Point
from doctor.logs.metrics import files
from doctor.logs.metrics import names as metrics
from doctor.logs.metrics import templates as metric_templates
from doctor.logs.metrics.bars import Bar, last_bar, parse_bar
from doctor.logs.metrics.batches import parse_rows
from doctor.logs.metrics.files import MetricFileError, MetricsCsv, read_metrics_csv, read_trainer_state
from doctor.logs.metrics.names import LONGEST_LINE_BYTES, METRIC_LITERALS, parse_line, parse_row
from doctor.logs.metrics.steps import MetricReader, read_lines
from doctor.logs.metrics.templates import Templates, rows_by
from doctor.logs.metrics.timeline import MOST_METRICS, MOST_POINTS, Timeline
from doctor.logs.metrics.wanted import everything, is_wanted
from doctor.logs.read import figures
from tests.case_files import read_cases

LINES = read_cases(Path(__file__).parent / "metric_lines.yaml")
MEGATRON = LINES["megatron"]["line"].encode()


def same(one: float, two: float) -> bool:
    return one == two or (math.isnan(one) and math.isnan(two))


@pytest.mark.parametrize("name", LINES)
def test_values_of_a_line(name) -> None:
    line, step, expected = LINES[name]["line"].encode(), LINES[name]["step"], LINES[name]["values"]
    for prefix in (b"", b"\x1b[36m(TaskRunner pid=31483)\x1b[0m ", b"[rank0]: ", b"(WorkerDict pid=7, ip=10.0.0.2) "):
        row = parse_row(prefix + line)
        assert row is not None
        assert row.step == step
        got = dict(row.pairs)
        assert not {"step", "global_step"} & got.keys()
        assert {name: got.get(name) for name in expected} == pytest.approx(expected, nan_ok=True)
    assert any(literal in line for literal in METRIC_LITERALS)


@pytest.mark.parametrize(
    "line",
    [
        b"{'lr': 5e-05, 'betas': [0.9, 0.999], 'eps': 1e-08, 'weight_decay': 0.0}",
        b"config: {'level': 3, 'max_capture_size': 512, 'use_inductor': True}",
        b"{'prompt': '5+6=', 'completion': 'reward: 3', 'reward': 0.5}",
        b"The final step:12 - we add 4",
        b"step: 3 - compute the sum: 12",
        b"the loss scale of a tree | is 12",
        b"{'loss': ",
        b'{"loss": }',
        b"{'loss': 1" + b" " * LONGEST_LINE_BYTES + b"}",
        b"\xff\xfe{'\x00",
        b"",
    ],
)
def test_other_lines_hold_no_metrics(line) -> None:
    assert parse_line(line) == []


def test_of_the_summary_only_its_time_is_told() -> None:
    """Its means are no part of the series; that it was printed is the witness of the run's end."""
    line = b"{'train_runtime': '2.7', 'train_loss': '-0.014', 'epoch': '0.3125'}"
    assert [(each.name, each.value) for each in parse_line(line)] == [("train_runtime", 2.7)]


def test_bars() -> None:
    assert parse_bar(b" 12%|\xe2\x96\x88| 1/8 [00:00<00:01,  5.83it/s]") == Bar(1, 8, pytest.approx(1 / 5.83))
    assert parse_bar(b"Training Progress:  10%|# | 5/50 [01:00<09:00, 12.00s/it]") == Bar(5, 50, 12.0)
    assert parse_bar(b"  0%|          | 0/8 [00:00<?, ?it/s]") == Bar(0, 8, None)
    assert parse_bar(b"Loading checkpoint shards:  50%|##| 1/2 [00:00<00:00, 2.0it/s]") is None
    assert parse_bar(b"50% of | the time") is None
    tail = b"x\r 10%|#| 1/10 [00:01<00:09, 1.0s/it]\r 20%|##| 2/10 [00:02<00:08, 1.0s/it]\nTraceback"
    assert last_bar(tail) == Bar(2, 10, 1.0)
    assert last_bar(tail[3:], cut=True) == Bar(2, 10, 1.0)
    assert last_bar(tail[3:40], cut=True) is None


def test_steps_go_back_with_a_run_that_goes_on_from_a_checkpoint() -> None:
    server = (
        b"INFO 11-20 16:10:28 [loggers.py:123] Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation "
        b"throughput: 2.0 tokens/s, Running: 3 reqs, Waiting: 0 reqs, GPU KV cache usage: 4.0%, Prefix cache hit rate: "
        b"5.0%"
    )
    told = [b"step:%d - actor/lr:0.1 - critic/kl:0.1" % step for step in (500, 501, 400, 401)]
    reader = MetricReader()
    assert [reader.feed(line)[0].step for step in told for line in (step, server)] == [
        500, 500, 501, 501, 400, 400, 401, 401,
    ]  # fmt: skip
    rows = [row for row in parse_rows(told) if row is not None]
    reader = MetricReader()
    reader.steps([row.names for row in rows], [row.step for row in rows], None, None, [False] * 4)
    assert reader.feed(server)[0].step == 401


GENUINE = {
    "trl-1.16-ok.log": (range(1, 11), "grad_norm", [0.915, 0.9297, 0.9252], []),
    "trl-1.16-nan-greedy.log": (range(1, 7), "entropy", [5.546, 5.547, 5.547, math.nan], ["NUM006", "NUM007"]),
    "trl-0.17-nan-reward.log": (range(1, 7), "rewards/<lambda>/mean", [math.nan], ["RLX006", "RLX008", "RLX010"]),
    "trl-1.16-zero2-fp16-overflow.log": (range(1, 5), "grad_norm", [math.inf] * 4, ["NUM005"]),
}


@pytest.mark.parametrize("name", GENUINE)
def test_genuine_logs(name, samples) -> None:
    steps, metric, first, problems = GENUINE[name]
    lines = re.split(rb"[\r\n]", (samples / "metrics" / name).read_bytes())
    engine, seen = RuleEngine(load_rules()), []
    for point in read_lines(lines, name):
        engine.feed(point)
        if point.name == metric:
            seen.append(point)
            assert metric.encode() in lines[int(point.source.rpartition(":")[2]) - 1]
    engine.close()
    assert [point.step for point in seen][: len(steps)] == list(steps)
    assert all(same(point.value, value) for point, value in zip(seen, first, strict=False))
    assert [finding.problem.id for finding in engine.findings] == problems


def test_steps_where_rows_were_held_back_in_a_buffer() -> None:
    bars = [b" %d%%|#| %d/9 [00:01<00:01, 1.0it/s]" % (step, step) for step in range(8)]
    rows = [b"{'loss': %d.5, 'epoch': 0.1}" % step for step in range(5)]
    assert [point.step for point in read_lines([*bars, *rows]) if point.name == "loss"] == [1, 2, 3, 4, 5]


def test_the_bar_behind_a_flushed_block_of_rows_is_not_theirs() -> None:
    bars = [b" %d%%|#| %d/12 [00:01<00:01, 1.0it/s]" % (step, step) for step in range(13)]
    rows = [b"{'loss': %d.5, 'epoch': 0.1}" % step for step in range(12)]
    # two blocks: what fits a buffer while bar 12 is drawn, and the rest at the end of the process
    lines = [*bars[:12], *rows[:11], b"", bars[12], b"", bars[12], rows[11]]
    assert [point.step for point in read_lines(lines) if point.name == "loss"] == list(range(1, 13))


def test_steps_between_logged_ones_are_learned_from_the_bars() -> None:
    reader = MetricReader()
    behind = b"\n\n 20%|##| 10/50 [00:10<00:40, 1.0it/s]\r"
    assert reader.feed(b"{'loss': 1, 'epoch': 1}", behind=behind)[0].step == 10
    assert reader.feed(b"{'eval_loss': 1, 'epoch': 1}")[0].step == 10
    assert reader.steps_known
    assert reader.feed(b"{'loss': 1, 'epoch': 2}", behind=b"Traceback")[0].step == 20
    assert not reader.steps_known


def test_evaluation_bars_do_not_move_the_step() -> None:
    reader = MetricReader()
    for bar in (
        b"  0%|  | 0/50 [00:00<?, ?it/s]",
        b" 20%|##| 10/50 [00:10<00:40, 1.0it/s]",
        b" 90%|#| 40/44 [0, 1it/s]",
    ):
        reader.feed(bar)
    assert reader.feed(b"{'loss': 1, 'epoch': 1}")[0].step == 10


def test_skipped_iterations_add_up() -> None:
    reader = MetricReader()
    counts = [{p.name: p.value for p in reader.feed(MEGATRON)}["skipped_steps"] for _ in range(3)]
    assert counts == [2, 4, 6]


def state(entries: list[dict[str, object]], indent: int | None = 2) -> str:
    return json.dumps({"best_metric": None, "log_history": entries, "max_steps": 3}, indent=indent, sort_keys=True)


def test_what_llama_factory_does_not_measure_is_not_missing() -> None:
    """Its `reward` is null in every stage but one, which is not the None of a reward function."""
    row = parse_row(LINES["llama_factory"]["line"].encode())
    assert row is not None
    assert not {"reward", "total_steps", "current_steps"} & set(row.names)


@pytest.mark.parametrize("indent", [2, None])
def test_trainer_state(tmp_path, indent) -> None:
    path = tmp_path / "trainer_state.json"
    entries = [
        {"loss": 0.5, "grad_norm": math.nan, "step": 10, "epoch": 0.1, "reward": None},
        {"eval_loss": 0.25, "step": 10},
        {"train_runtime": 3.0, "train_loss": 0.5, "step": 20},
    ]
    path.write_text(state(entries, indent) + "\n")
    points = [(point.name, point.step, point.value) for row in read_trainer_state(path) for point in points_of(row)]
    told = dict.fromkeys(("loss", "grad_norm", "epoch", "reward", "eval_loss"), 10)
    assert {name: step for name, step, _ in points} == {**told, "train_runtime": 20}
    assert math.isnan({name: value for name, _, value in points}["reward"])


@pytest.mark.parametrize("text", ["", "[1, 2]", '{"a": 1}', "{" + "x" * 100])
def test_no_trainer_state(tmp_path, text) -> None:
    path = tmp_path / "trainer_state.json"
    path.write_text(text)
    with pytest.raises(MetricFileError, match="trainer_state"):
        list(read_trainer_state(path))


def test_csv_written_is_read_again(tmp_path) -> None:
    points = [
        Point("loss", 0.1, 1, 5, 0, "a.log:3"),
        Point("grad_norm", math.nan, 2),
        Point("rewards/a,b/mean", -math.inf, None, None, 3, "b\n.log"),
    ]
    file = io.StringIO()
    MetricsCsv(file).write(MetricRow(p.step, (p.name,), (p.value,), p.t_ns, p.rank, p.source) for p in points)
    path = tmp_path / "m.csv"
    path.write_text(file.getvalue() + "7,1,torn")
    read = [point for row in read_metrics_csv(path) for point in points_of(row)]
    assert [(p.name, repr(p.value), p.step, p.t_ns, p.rank) for p in read] == [
        (p.name, repr(p.value), p.step, p.t_ns, p.rank) for p in points
    ]
    assert read[0].source == "a.log:3"
    assert read[1].source == str(path)


@pytest.mark.parametrize("broken", [False, True])
def test_lines_of_a_csv_read_together_say_what_each_says_alone(tmp_path, broken, monkeypatch) -> None:
    monkeypatch.setattr(files, "_CHARACTERS_TOGETHER", 1500)
    pick, expected = random.Random(4), []  # noqa: S311
    lines = ["# from a test", "step,t_ns,name,value,rank,source"]
    for step in range(600):
        for name in ("loss", "kl") if step % 200 else ("loss", "loss", "kl"):
            rank, source, value = pick.choice(("", "3")), pick.choice(("", "b.log:3")), pick.gauss(0, 1)
            lines.append(f"{step},{step + 9},{name},{value},{rank},{source}")
            expected.append((name, value, step, step + 9, int(rank) if rank else 1, source))
            if broken and pick.random() < 0.02:
                lines.append(pick.choice(("", "5,1,torn", "1,2,loss,x,,", "1,2,3,4,5,6,7", "# odd")))
    path = tmp_path / "rank1.csv"
    path.write_text("\n".join(lines) + ("" if broken else "\n"))
    rows = list(read_metrics_csv(path, 1))
    told = [tuple(point) for row in rows for point in points_of(row)]
    assert told == [(*point[:5], point[5] or str(path)) for point in expected]
    assert 600 < len(rows) < len(expected)
    path.write_text(lines[1] + "\n")
    assert list(read_metrics_csv(path)) == []


def test_time_line_keeps_spikes_beginnings_and_its_bounds() -> None:
    timeline = Timeline()
    for step in range(1, 300_001):
        value = 1000.0 if step == 123_456 else math.nan if step > 299_000 else math.sin(step / 1000)
        timeline.add(Point("grad_norm", value, step))
    series = timeline.series["grad_norm"]
    points = series.points()
    assert len(points) <= MOST_POINTS
    assert points == sorted(points)
    assert (123_456, 1000.0) in points
    assert points[0][0] == 1
    assert series.first_nan == 299_001
    assert series.count == 300_000
    assert (timeline.first_step, timeline.last_step) == (1, 300_000)
    for number in range(MOST_METRICS + 50):
        timeline.add(Point(f"m{number}", 1.0, 1))
    assert len(timeline.series) == MOST_METRICS
    assert timeline.dropped == 51


def test_of_a_metric_that_is_never_drawn_only_the_steps_are_seen() -> None:
    timeline = Timeline()
    for point in Point("loss", 1.0, 3), Point("other", 1.0, 5):
        timeline.add(point, "loss".__eq__)
    timeline.add_columns({"third": Column((7, 9), (1.0, 2.0))}, "loss".__eq__)
    assert list(timeline.series) == ["loss"]
    assert (timeline.first_step, timeline.last_step) == (3, 9)
    assert timeline.dropped == 0


@pytest.mark.parametrize("seed", range(4))
def test_time_line_of_columns_is_that_of_points(seed: int) -> None:
    pick = random.Random(seed)  # noqa: S311
    names = ("loss", "kl", "reward")
    by_points, by_columns = Timeline(), Timeline()
    rows, step = [], 0
    for _ in range(6000):
        step += pick.choice((0, 1, 1, 1, 7)) if pick.random() < 0.999 else -step // 2
        told = tuple(name for name in names if pick.random() < 0.99)
        odd = pick.random() < 0.001
        values = tuple(pick.choice((math.nan, math.inf)) if odd else pick.gauss(0, 1) for _ in told)
        rows.append(MetricRow(None if pick.random() < 0.01 else step, told, values))
    for row in rows:
        for point in points_of(row):
            by_points.add(point)
    for together in stretches(rows):
        by_columns.add_columns(Stretch(together).columns)
    for name in names:
        one, two = by_points.series[name], by_columns.series[name]
        assert (one.points(), one.count, one.first, one.last, one.first_nan, one.first_inf) == (
            two.points(), two.count, two.first, two.last, two.first_nan, two.first_inf
        )  # fmt: skip
    assert (by_points.first_step, by_points.last_step) == (by_columns.first_step, by_columns.last_step)


def test_lines_of_a_known_shape_are_read_as_carefully_as_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = [
        b"{'loss': 0.5, 'kl': 0.25, 'epoch': 1.0}",
        b"{'loss': '0.5', 'kl': 'nan', 'epoch': 1.0}",
        b"{'loss': None, 'kl': 0.25, 'epoch': 1.0}",
        b"{'loss': 0.5, 'kl': 'a: b, c', 'epoch': 1.0}",
        b"{'loss': 0.5, 'kl': '1: 2, 3', 'epoch': 1.0}",
        b"{'loss': 0.5, 'kl': 0.25, 'epoch': 1.0, 'train_runtime': 5.0}",
        b"step:3 - actor/kl_loss:0.5 - critic/kl:0.25 - perf/mfu:np.float64(0.5)",
        b"step:4 - actor/kl_loss:0.5 - critic/kl:np.int32(7) - perf/mfu:0.75",
        b"step:5 - actor/kl_loss:0.5 - critic/kl:x:1 - perf/mfu:0.75",
        b"step:6 - actor/kl_loss:0.5 - a:b:1 - perf/mfu:0.75",
        b"Step 7: {'learned': 0.5, 'with_a_step': 0.25}",
        b"{'learned': 0.5, 'with_a_step': 0.25}",
    ]
    quick = [str(parse_row(line)) for _ in range(3) for line in odd]
    monkeypatch.setattr(metrics, "_by_shape", lambda shapes, parts, step: None)
    assert quick == [str(parse_row(line)) for line in odd] * 3


TEMPLATES = (
    "{{'loss': {0}, 'kl': '{1}', 'epoch': 1.0}}",
    "[rank{2}]: {{'loss': {0}, 'kl': '{1}', 'epoch': 1.0}}",
    "Global step {2}: {{'actor/x': {0}, 'kl': {1}}}",
    "step:{2} - actor/kl_loss:{0} - critic/kl:np.float64({1}) - perf/mfu:{0}",
    "(TaskRunner pid={2}) step:{2} - actor/kl_loss:{0} - actor/lr:0.000 - perf/mfu:{1}",
    "(TaskRunner pid=7) step:{2} - actor/kl_loss:{0} - perf/mfu:{1} ",
    "{{'loss': {0}, 'step': {2}, 'kl': {1}}}",
    "{{'loss': {0}, 'kl': {1}, 'train_runtime': {0}}}",
)
LAYOUTS = (
    *TEMPLATES,
    "{{'loss': '{0}', 'grad_norm': {1}, 'odd/one': '{1}', 'epoch': '{0}', 'reward': {1}, 'kl': {0}, 'x/y': 1m 3s}}",
    "\r  \r{{'loss': {0}, 'global_step/max_steps': '{2}/90', 'grad_norm': {1}, 'a': {0}, 'kl': {1}, 'reward': {0}}} ",
    "[rank1]: {{'loss': {0}, 'step': {2}, 'grad_norm': {1}, 'a': {0}, 'kl': {1}, 'reward': {0}, 'b': 1}}",
    "Step 4: {{'loss': {0}, 'grad_norm': {1}, 'a': {0}, 'kl': {1}, 'reward': {0}, 'epoch': 1}}",
    "{{'eval_loss': {0}, 'eval_a': {1}, 'eval_b': {0}, 'kl': {1}, 'eval_reward': {0}, 'epoch': 1}}",
    "(TaskRunner pid={2}) step:{2} - a/b:{0} - actor/lr:{1} - actor/kl_loss:{0} - critic/score/mean:np.float64({1})",
    "step:{2} - a/b:np.float64({0}) - critic/score/mean:{1} - critic/rewards/mean:{0} - actor/entropy:{1} - c/d:{0}",
    "x|step:{2} - a/b:{0} - actor/lr:0.000 - actor/kl_loss:{0} - actor/entropy:{1} - perf/mfu:{0} - perf/b:{1}",
    "iteration {2}/ 90 | lm loss: {0} | grad norm: {1} | number of skipped iterations: 1 | a: {0} | b: {1} | c: 1 |",
)
FIGURES = ("0.5", "-1e-06", "3", "nan", "inf", "None", "-", "1.5.2", "", "2e", "x")


@pytest.mark.parametrize("seed", range(6))
def test_lines_read_together_say_what_each_says_alone(seed: int) -> None:
    pick = random.Random(seed)  # noqa: S311
    odd = 3 if seed % 2 else len(FIGURES)
    lines = [
        pick.choice(TEMPLATES).format(
            pick.choice(FIGURES[:odd]), pick.choice(FIGURES[:odd]), pick.choice((5, 12, "+5"))
        )
        for _ in range(400)
    ]
    told = [line.encode() for line in lines]
    assert [str(row) for row in parse_rows(told)] == [str(parse_row(line)) for line in told]


def test_memory_is_flat_in_the_number_of_lines() -> None:
    def run(count: int) -> int:
        reader, engine, timeline = MetricReader(), RuleEngine(load_rules()), Timeline()
        tracemalloc.start()
        for number in range(count):
            for point in reader.feed(
                b"step:%d - actor/grad_norm:0.%d - x%d/y:1.0" % (number, number % 10 + 1, number % 3)
            ):
                engine.feed(point)
                timeline.add(point)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    run(100)  # imports
    assert run(24_000) < run(6000) * 1.5 + 200_000


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("compiled", [True, False])
def test_layouts_give_what_is_wanted_of_each_line(seed: int, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was learned from the lines before, a line says what it says alone, less what nobody asks for."""
    if not compiled:
        monkeypatch.setattr(metric_templates, "values_of", figures.plain_values_of)
    pick = random.Random(seed)  # noqa: S311
    odd = 4 if seed % 2 else len(FIGURES)
    told = [
        pick.choice(LAYOUTS).format(pick.choice(FIGURES[:odd]), pick.choice(FIGURES[:odd]), pick.choice((5, 12, "+5")))
        for _ in range(600)
    ]
    lines = [line.encode() for line in told]
    for wanted in (is_wanted, everything):
        templates, alone = Templates(wanted), Templates(wanted)
        found = [each for at in range(0, len(lines), 50) for each in rows_by(templates, lines[at : at + 50])]
        careful = [None if (row := parse_row(line)) is None else alone.kept(row) for line in lines]
        assert [str(row and row.row) for row, _ in found] == [str(row) for row in careful]
        if seed % 2:  # where all are numbers, some lines went the quick way
            assert sum(start >= 0 for _, start in found) > 10
        assert all(line[start:].startswith((b"{'", b"step:")) for line, (_, start) in zip(lines, found, strict=True)
                   if start >= 0)  # fmt: skip


def test_a_line_with_many_metrics_keeps_what_is_judged_or_drawn() -> None:
    line = b"step:3 - a/one:1 - b/two:2 - actor/kl_loss:0.1 - c/three:3 - actor/lr:1e-6 - d/four:4 - e/five:5"
    kept = Templates(is_wanted).kept(parse_row(line))  # type: ignore[arg-type]
    assert (kept.step, kept.names) == (3, ("a/one", "kl", "learning_rate"))  # the first tells what kind of line it is
    assert Templates(everything).kept(kept) == kept

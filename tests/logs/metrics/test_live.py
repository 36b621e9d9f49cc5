"""Metrics in the post-mortem: the same series gives the same findings however it comes, in one pass, in little memory."""

from __future__ import annotations

import gzip
import io
import json
import math
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from doctor.catalogue.finding import Finding
from doctor.catalogue.index import load
from doctor.catalogue.problem_files import function_of
from doctor.catalogue.rules import RuleEngine, load_rules
from doctor.catalogue.series import Point
from doctor.diagnosis.report import as_dict
from doctor.diagnosis.schema import REPORT
from doctor.logs.match.matcher import Seen
from doctor.logs.metrics import lines as metric_lines
from doctor.logs.metrics.files import MetricsCsv
from doctor.logs.metrics.lines import MetricLines, numbered
from doctor.logs.metrics.live import merged
from doctor.logs.metrics.sources import in_folder, metric_file
from doctor.logs.postmortem import Postmortem, Prepared, examine, prepare
from doctor.logs.read import parallel
from tests.case_files import read_cases
from tests.each import for_each
from tests.prepared import prepared_once
from tests.rules.series_cases import points_of

FOLDER = Path(__file__).parents[2] / "rules"
CASES = [
    (f"{entry.id}-{name}", case)
    for entry in load()
    if entry.has_rule
    for name, case in read_cases(FOLDER / f"{entry.id}.yaml").items()
]


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepared_once()


def told(findings: Any) -> dict[str, tuple[int | None, str, str]]:
    """What a reader is told, without the file that it came from."""
    return {each.problem.id: (each.where.step, each.severity.value, each.words().headline) for each in findings}


WITH_RULES = frozenset(entry.id for entry in load() if entry.has_rule)
#: of the few lines of a short log these ask more than their rules ask of a run
OF_QUOTED = frozenset(entry.id for entry in load() if entry.has_rule and function_of(entry, "of_quoted") is not None)


def live(result: Postmortem) -> dict[str, tuple[int | None, str, str]]:
    return told(each for each in result.diagnosis.outcome.findings if each.problem.id in WITH_RULES)


def directly(points: list[Point]) -> dict[str, tuple[int | None, str, str]]:
    engine = RuleEngine(load_rules())
    engine.feed_all(points)
    engine.close()
    assert not engine.crashed
    return told(merged(engine.findings))


def as_verl(points: list[Point]) -> str:
    """One line a step, as veRL prints it, with its time in front where it has one."""
    rows: dict[tuple[int | None, int | None, int | None], list[str]] = {}
    for each in points:
        rows.setdefault((each.step, each.t_ns, each.rank), []).append(f"{each.name}:{each.value!r}")
    lines = (
        f"{'' if rank is None else f'[rank{rank}]: '}{stamp(t_ns)}step:{step} - global_seqlen/mean:9 - {' - '.join(row)}\n"
        for (step, t_ns, rank), row in rows.items()
    )
    return "".join(lines)


def stamp(t_ns: int | None) -> str:
    return "" if t_ns is None else time.strftime("[%Y-%m-%d %H:%M:%S,000] ", time.gmtime(t_ns // 10**9))


@for_each("case", CASES, group=lambda case: case.partition("-")[0])
def test_rules_logs_and_tables_find_the_same(tmp_path: Path, prepared: Prepared, case: dict[str, Any]) -> None:
    points = list(points_of(case))
    expected = directly(points)
    (tmp_path / "train.log").write_text(as_verl(points))
    out = io.StringIO()
    from_log = examine([str(tmp_path / "train.log")], prepared=prepared, table=MetricsCsv(out))
    (tmp_path / "metrics.csv").write_text(out.getvalue())
    from_table = examine([str(tmp_path / "metrics.csv")], prepared=prepared)
    for result in (from_log, from_table):
        found = live(result)
        assert {name: each for name, each in found.items() if name in expected or name not in OF_QUOTED} == expected


def nan_run(steps: int = 40, since: int = 31) -> str:
    rows = ((step, math.nan if step >= since else 0.5) for step in range(1, steps + 1))
    return "".join(
        f"{{'loss': 0.01, 'grad_norm': {norm}, 'reward': {0.1 + step % 7 / 10}, 'epoch': 0.1}}\n"
        f" 10%|#| {step}/{steps * 2} [00:10<00:40, 1.0it/s]\r"
        for step, norm in rows
    )


def test_a_run_that_ended_well_on_garbage_is_found(tmp_path: Path, prepared: Prepared) -> None:
    path = tmp_path / "train.log"
    path.write_text(nan_run() + "\n{'train_runtime': '9.0', 'train_loss': '0.01'}\n")
    result = examine([str(path)], prepared=prepared)
    first = result.diagnosis.outcome.findings[0]
    assert (result.diagnosis.verdict, first.problem.id, first.where.step, first.where.line) == (
        "known", "NUM006", 31, 31,
    )  # fmt: skip
    jsonschema.validate(json.loads(json.dumps(as_dict(result.diagnosis), allow_nan=False)), REPORT)
    series = {each["name"]: each for each in result.diagnosis.series}
    assert series["grad_norm"]["not_finite_from"] == 31
    assert "NUM006" in series["grad_norm"]["findings"]
    assert series["reward"]["span"] == [1, 40]


def test_compressed_logs_and_their_states_tell_it_once(tmp_path: Path, prepared: Prepared) -> None:
    (tmp_path / "train.log.gz").write_bytes(gzip.compress(nan_run().encode()))
    folder = tmp_path / "checkpoint-40"
    folder.mkdir()
    history = [{"step": step, "loss": 0.01, "grad_norm": "nan" if step > 30 else 0.5} for step in range(1, 41)]
    (folder / "trainer_state.json").write_text(json.dumps({"log_history": history}, indent=2))
    result = examine([str(tmp_path)], prepared=prepared)
    mine = [each for each in result.diagnosis.outcome.findings if each.problem.id == "NUM006"]
    assert len(mine) == 1
    assert {Path(each.source).name for each in mine[0].evidence} == {"train.log.gz", "trainer_state.json"}


def test_a_folder_of_states_alone_is_enough_and_the_last_counts(tmp_path: Path, prepared: Prepared) -> None:
    for step in (5, 10, 40):
        folder = tmp_path / "out" / f"checkpoint-{step}"
        folder.mkdir(parents=True)
        history = [{"step": each, "loss": 0.1, "grad_norm": 0.5, "reward": 0.0} for each in range(1, step + 1)]
        (folder / "trainer_state.json").write_text(json.dumps({"log_history": history}, indent=2))
    assert [Path(each.path).parent.name for each in in_folder(str(tmp_path))] == ["checkpoint-40"]
    result = examine([str(tmp_path)], prepared=prepared)
    assert "RLX008" in live(result)


def test_ranks_of_a_run_folder(tmp_path: Path, prepared: Prepared) -> None:
    (tmp_path / "run.json").write_text("{}")
    (tmp_path / "logs").mkdir()
    (tmp_path / "metrics").mkdir()
    for rank in (0, 1):
        rows = (f"{step},1,grad_norm,{'nan' if rank and step > 8 else 0.5}\n" for step in range(1, 20))
        (tmp_path / "metrics" / f"rank{rank}.csv").write_text("step,t_ns,name,value\n" + "".join(rows))
    finding = examine([str(tmp_path)], prepared=prepared).diagnosis.outcome.findings[0]
    assert (finding.problem.id, finding.where.rank, finding.where.step) == ("NUM006", 1, 9)


def test_a_table_of_something_else_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name,age\nx,1\n")
    (tmp_path / "b.csv").write_text("# schema 1\nstep,t_ns,name,value\n1,1,loss,2\n")
    assert metric_file(str(tmp_path / "a.csv")) is None
    assert metric_file(str(tmp_path / "b.csv")) is not None


def test_metrics_of_a_broken_state_are_said_to_be_missing(tmp_path: Path, prepared: Prepared) -> None:
    (tmp_path / "trainer_state.json").write_text("[1, 2]")
    result = examine([str(tmp_path / "trainer_state.json")], prepared=prepared)
    assert "trainer_state.json" in result.diagnosis.outcome.skipped[0].reason


def test_a_rule_that_raises_costs_only_itself(
    tmp_path: Path, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    from doctor.checks.numerics.gradient_exploding import GradientExploding

    def broken(*_: object) -> Finding | None:
        raise ZeroDivisionError

    monkeypatch.setattr(GradientExploding, "update", broken)
    (tmp_path / "train.log").write_text(nan_run())
    result = examine([str(tmp_path / "train.log")], prepared=prepared)
    assert [each.id for each in result.diagnosis.outcome.crashed] == ["NUM008"]
    assert "NUM006" in live(result)


def test_the_second_vllm_engine_is_not_mixed_into_the_first(tmp_path: Path, prepared: Prepared) -> None:
    lines = (
        f"(APIServer pid=7) INFO 11-20 16:{minute:02}:0{engine} [loggers.py:122] Engine 00{engine}: "
        f"Avg prompt throughput: 5.0 tokens/s, Avg generation throughput: {speed}.0 tokens/s, Running: 3 reqs, "
        "Waiting: 0 reqs, GPU KV cache usage: 61.4%\n"
        for minute in range(10)
        for engine, speed in ((0, 100), (1, 900))
    )
    (tmp_path / "server.log").write_text("".join(lines))
    result = examine([str(tmp_path / "server.log")], prepared=prepared)
    series = {each["name"]: each for each in result.diagnosis.series}
    assert (series["vllm/generation_tokens_per_s"]["count"], series["vllm/generation_tokens_per_s"]["last"]) == (
        10,
        100,
    )


@pytest.mark.process
def test_ranges_on_several_cores_give_what_one_pass_gives(
    tmp_path: Path, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "train.log"
    noise = random.Random(1)  # noqa: S311 - noise, not a secret
    with path.open("w") as out:
        for step in range(1, 4001):
            norm = math.nan if step > 3000 else 0.3 * math.exp(noise.gauss(0, 0.3))
            out.write(f"step:{step} - actor/grad_norm:{norm} - critic/score/mean:{noise.random()}\n" + "x" * 400 + "\n")
    whole = examine([str(path)], prepared=prepared)
    monkeypatch.setattr(parallel, "RANGE_FROM_BYTES", 1 << 18)
    monkeypatch.setattr(parallel, "RANGE_BYTES", 1 << 18)
    monkeypatch.setattr(parallel, "WORTH_BYTES", 1)
    monkeypatch.setattr(parallel, "cores", lambda: 2)
    monkeypatch.setattr(metric_lines, "MOST_IN_MEMORY_BYTES", 1 << 12)
    ranges = examine([str(path)], prepared=prepare())
    assert [(each.where, each.evidence) for each in ranges.diagnosis.outcome.findings] == [
        (each.where, each.evidence) for each in whole.diagnosis.outcome.findings
    ]
    assert ranges.diagnosis.series == whole.diagnosis.series
    assert whole.diagnosis.outcome.findings[0].where.line == 6001


def test_rows_beyond_the_memory_come_back_in_order_and_leave_no_file(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(metric_lines, "MOST_IN_MEMORY_BYTES", 1 << 12)
    lines = MetricLines(str(tmp_path))
    for number in range(1, 3001):
        lines.take(Seen(0, number, b"step:%d - loss:0.5 - critic/kl:%d" % (number, number)))
        lines.take(Seen(0, number, b"step: nothing of the kind"))
    told_range = lines.result()
    assert told_range.spilled
    read = [each for rows in numbered([told_range], [3000]) for each in rows]
    assert [(each.line, each.row.step) for each in read] == [(each, each) for each in range(1, 3001)]
    assert list(tmp_path.iterdir()) == []


def test_a_bar_that_lost_its_name_is_none_of_the_training(prepared: Prepared, tmp_path: Path) -> None:
    """What is looked at before a line may begin anywhere in a bar of vLLM."""
    bars = "".join(
        f"\rProcessed prompts:  {done}%|###       | {done}/100 [01:00<01:02, 1.0it/s]" for done in range(10, 60)
    )
    log = tmp_path / "run.log"
    with log.open("w") as file:
        for shift in range(80):
            file.write(f"x\n{bars}{'.' * shift}\n{{'loss': 0.5, 'grad_norm': 1.0, 'epoch': 0.1}}\n")
    series = {each["name"]: each for each in examine([str(log)], prepared=prepared).diagnosis.series}
    assert (series["loss"]["count"], series["loss"]["span"]) == (80, [1, 80])


def test_of_several_engines_the_first_counts_between_lines_of_the_trainer(prepared: Prepared, tmp_path: Path) -> None:
    lines = []
    for step in range(1, 31):
        lines.append(f"(TaskRunner pid=9) step:{step} - actor/entropy:0.5 - critic/score/mean:0.1\n")
        lines += [
            f"INFO 11-20 16:10:28 [loggers.py:123] Engine {engine:03}: Avg prompt throughput: 1.0 tokens/s, Avg "
            f"generation throughput: {1 + engine}.0 tokens/s, Running: 3 reqs, Waiting: 0 reqs, GPU KV cache usage: "
            "4.0%, Prefix cache hit rate: 5.0%\n"
            for engine in (1, 0, 2)
        ]
    log = tmp_path / "run.log"
    log.write_text("".join(lines))
    series = {each["name"]: each for each in examine([str(log)], prepared=prepared).diagnosis.series}
    rate = series["vllm/generation_tokens_per_s"]
    assert (rate["count"], rate["first"], rate["span"]) == (30, 2.0, [1, 30])


def test_a_disk_that_is_full_costs_the_metrics_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metric_lines, "MOST_IN_MEMORY_BYTES", 1 << 15)
    lines = MetricLines("/nowhere/at/all")
    for number in range(1, 3001):
        lines.take(Seen(0, number, b"step:%d - loss:0.5" % number))
    told_range = lines.result()
    assert "No such file" in told_range.lost
    assert 0 < sum(map(len, told_range)) < 3000


LABELLED = """0: 2026-11-20 10:00:00 - INFO - train - step one
1: 2026-11-20 10:00:00 - INFO - train - step one
0: step:1 - actor/grad_norm:0.5 - critic/score/mean:0.5
1: Traceback (most recent call last):
1:   File "/x/lib/python3.11/site-packages/deepspeed/runtime/fp16/loss_scaler.py", line 2, in f
1: Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.
"""


@pytest.mark.process
@pytest.mark.parametrize("how", ["plain", "gz", "stdin"])
def test_labels_of_srun_are_understood_however_the_log_comes(tmp_path: Path, how: str) -> None:
    path = tmp_path / ("job.log.gz" if how == "gz" else "job.log")
    path.write_bytes(gzip.compress(LABELLED.encode()) if how == "gz" else LABELLED.encode())
    command = [sys.executable, "-m", "doctor", "postmortem", "-" if how == "stdin" else str(path), "--format", "json"]
    done = subprocess.run(
        command, input=LABELLED.encode() if how == "stdin" else None, capture_output=True, check=False, timeout=100
    )
    report = json.loads(done.stdout)
    assert (report["findings"][0]["id"], report["findings"][0]["where"]["rank"]) == ("DSP018", 1)
    assert "2 ranks" in report["target"]["summary"]
    assert {each["name"] for each in report["series"]} >= {"grad_norm", "reward"}


def _server_line(second: int, running: int) -> str:
    minutes, seconds = divmod(second, 60)
    return (
        f"INFO 08-01 10:{minutes:02}:{seconds:02} [loggers.py:127] Engine 000: Avg prompt throughput: 120.0 tokens/s, "
        f"Avg generation throughput: {800.0 if running else 0.0} tokens/s, Running: {running} reqs, Waiting: 0 reqs, "
        "GPU KV cache usage: 12.0%, Prefix cache hit rate: 0.0%\n"
    )


def test_a_server_that_waits_for_its_trainer_is_told_from_both_logs(tmp_path: Path, prepared: Prepared) -> None:
    busy = [turn * 120 + second for turn in range(8) for second in (0, 10, 20)]
    (tmp_path / "server.log").write_text("".join(_server_line(each, 16) for each in busy))
    step = "{{'loss': 0.01, 'grad_norm': 0.5, 'learning_rate': 1e-06, 'reward': 0.{0}, 'step_time': 120.0, 'epoch': 0.{0}}}\n"
    (tmp_path / "train.log").write_text("".join(step.format(each) for each in range(1, 9)))
    both = examine([str(tmp_path)], prepared=prepared).diagnosis.outcome.findings
    assert [each.words().headline for each in both if each.problem.id == "PRF010"] == [
        "The vLLM server was without requests 73 % of the time, in 7 pauses"
    ]
    alone = examine([str(tmp_path / "server.log")], prepared=prepared).diagnosis.outcome.findings
    assert not [each for each in alone if each.problem.id == "PRF010"]

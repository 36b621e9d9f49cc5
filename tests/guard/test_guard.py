"""The framework-free core: metrics become alarms, decisions and files; a healthy run stays silent."""

from __future__ import annotations

import json
import math
import sys
import tracemalloc
from itertools import groupby

import pytest

from doctor.monitors.guard.agree import Group, decode, encode
from doctor.monitors.guard.guard import KEPT_STEPS, MOST_FINDINGS, Guard
from doctor.monitors.guard.options import Options
from doctor.monitors.guard.policy import Policy
from doctor.monitors.guard.scale import Reading
from doctor.run.folder import RunDir
from tests.rules.healthy_run import healthy_run


@pytest.fixture
def run(tmp_path) -> RunDir:
    return RunDir(tmp_path)


@pytest.fixture
def guard(run) -> Guard:
    return Guard(Options(lang="en"), rank=0, world_size=1, run=run)


def rows(guard: Guard) -> list[str]:
    assert guard.run is not None
    return guard.run.metrics(guard.rank).read_text().splitlines()


def test_a_nan_is_said_everywhere_and_asks_for_its_policy(guard, run, capsys) -> None:
    guard.observe(1, {"loss": 0.5, "grad_norm": 1.0})
    (finding,) = guard.observe(2, {"loss": 0.1, "grad_norm": math.nan})
    assert finding.problem.id == "NUM006"
    assert guard.pending is guard.agree() is Policy.CHECKPOINT
    guard.settled()
    assert guard.pending is None
    told = capsys.readouterr().err
    assert "doctor: error NUM006: `grad_norm` is NaN at step 2" in told
    assert f"doctor postmortem --run {run.path}" in told
    assert "the policy is `checkpoint`" in told, "nobody but the caller can carry it out"
    (event,) = [each for each in run.read_events() if each["kind"] == "alarm"]
    assert (event["id"], event["step"], event["data"]["policy"]) == ("NUM006", 2, "checkpoint")
    assert event["data"]["where"] == {"rank": 0, "step": 2}
    assert rows(guard)[1].endswith(",loss,0.5")
    assert rows(guard)[-1].endswith(",grad_norm,nan")


def test_other_stacks_names_none_and_things_that_are_no_numbers(guard) -> None:
    tensor = type("Tensor", (), {"__float__": lambda _self: pytest.fail("a device was read")})()
    guard.observe(1, {"actor/pg_loss": 0.5, "reward": None, "text": "many words", "flag": True, "weights": tensor})
    kept = dict(guard.recent[-1][1])
    assert kept.pop("loss") == 0.5
    assert math.isnan(kept.pop("reward"))
    assert kept == {}


def test_only_rank_0_talks(run, capsys) -> None:
    guard = Guard(Options(), rank=1, world_size=2, run=run)
    guard.observe(1, {"loss": math.nan})
    assert capsys.readouterr().err == ""
    assert [each["rank"] for each in run.read_events()] == [1]


def test_chinese(run, capsys) -> None:
    Guard(Options(lang="zh"), rank=0, run=run).observe(1, {"loss": math.nan})
    told = capsys.readouterr().err
    assert "第一步(step 1)`loss` 就是 NaN" in told
    assert "策略要求 `checkpoint`" in told


def test_an_alarm_that_comes_again_is_brief_then_only_in_the_run_folder(guard, run, capsys) -> None:
    for step in range(1, 200):
        guard.observe(step, {"loss": math.nan if step % 8 == 0 else 0.5, "grad_norm": 1.0})
    told = capsys.readouterr().err
    assert told.count("doctor: error NUM006") == 2
    assert told.count("doctor explain NUM006\n") == 1
    assert len([each for each in run.read_events() if each["kind"] == "alarm"]) > 10
    assert len(guard.findings) <= MOST_FINDINGS


def test_the_loss_scale_is_judged_and_written_when_it_changes(guard, capsys) -> None:
    scale = 2.0**16
    for step in range(1, 40):
        guard.step = step
        scale = scale / 2 if step in (30, 32, 34) else scale
        guard.scale(Reading(scale, 1.0, [0, 1, 2, 3][sum(step >= each for each in (30, 32, 34))], None, "test"))
    assert [(each.problem.id, each.where.step) for each in guard.findings] == [("NUM005", 30)]
    assert len([each for each in rows(guard) if ",loss_scale," in each]) == 4
    assert "NUM005" in capsys.readouterr().err


def test_an_exception_is_recorded_once_with_the_last_steps(guard, run) -> None:
    for step in range(1, 100):
        guard.observe(step, {"loss": math.inf if step == 99 else 0.5})
    guard.exception(RuntimeError("CUDA error"))
    guard.close()
    guard.close()
    events = {each["kind"]: each for each in run.read_events()}
    data = events["exception"]["data"]
    assert (events["exception"]["step"], data["type"], data["text"]) == (99, "RuntimeError", "CUDA error")
    assert [each["step"] for each in data["recent"]] == list(range(100 - KEPT_STEPS, 100))
    assert data["recent"][-1]["loss"] == "inf"
    assert data["alarms"] == ["NUM006"]
    assert len([each for each in run.read_events() if each["kind"] == "end"]) == 1


def test_a_rule_that_raises_and_a_disk_that_is_full_change_nothing(tmp_path, monkeypatch, capsys) -> None:
    run = RunDir(tmp_path)
    guard = Guard(Options(), rank=0, run=run)
    monkeypatch.setattr("os.write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    assert guard.observe(1, {"loss": 0.5}) == []
    (finding,) = guard.observe(2, {"loss": math.nan})
    assert finding.problem.id == "NUM006"
    monkeypatch.setattr(guard, "_engine", None)
    assert guard.observe(3, {"loss": math.nan}) == []
    assert guard.observe(4, {"loss": math.nan}) == []
    assert capsys.readouterr().err.count("switched off") == 1
    assert guard.agree() is None, "a guard whose hooks failed takes part in no decision"


@pytest.mark.parametrize("policy", list(Policy))
def test_a_decision_as_a_number(policy: Policy) -> None:
    assert decode(encode(policy, "NUM006", 3)) == (policy, "NUM006", 3)
    assert decode(0) is None
    assert encode(policy, "RLX001", 0) > encode(policy, "RLX001", 5)
    stronger = [each for each in Policy if each.rank > policy.rank]
    assert all(encode(each, "PYT001", 99) > encode(policy, "UNK999", 0) for each in stronger)


def test_nothing_is_reduced_where_there_is_one_rank() -> None:
    group = Group()
    assert group.join()
    assert group.strongest(42) == 42
    assert group.gathered("me") == ["me"]


def observe_all(guard: Guard, seed: int, steps: int) -> None:
    for step, points in groupby(healthy_run(seed, steps), key=lambda each: each.step):
        guard.observe(step or 0, {each.name: each.value for each in points})


@pytest.mark.parametrize(("seed", "steps"), [(1, 10_000), pytest.param(1, 100_000, marks=pytest.mark.slow)])
def test_a_healthy_noisy_run_is_silent(seed, steps, capsys) -> None:
    guard = Guard(Options(), rank=0)
    observe_all(guard, seed, steps)
    guard.close()
    assert [each.words().headline for each in guard.findings] == []
    assert capsys.readouterr().err == ""


def test_memory_stays_flat() -> None:
    guard = Guard(Options(), rank=0)
    observe_all(guard, 1, 2_000)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    observe_all(guard, 2, 1_000)
    middle = tracemalloc.get_traced_memory()[0]
    observe_all(guard, 3, 3_000)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - middle < 100_000, (before, middle, after)


class Tracker:
    """Stands for wandb and trackio, which are told by their module's own functions."""

    class AlertLevel:
        ERROR, WARN = "error", "warn"

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []
        self.run = self

    def alert(self, title: str, text: str, level: str) -> None:
        assert "\n\n" in text
        self.said.append((title, level))


def test_trackers_that_are_active_are_told(run, monkeypatch, capsys) -> None:
    wandb, trackio, board = Tracker(), Tracker(), []
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    monkeypatch.setitem(sys.modules, "trackio", trackio)
    writer = type("Writer", (), {"add_text": lambda _self, *args: board.append(args), "flush": lambda _self: None})()
    guard = Guard(Options(), rank=0, run=run)
    guard.alerts.writers = lambda: [writer]
    guard.observe(4, {"loss": math.nan})
    expected = [("NUM006 `loss` is NaN at step 4, the first one", "error")]
    assert wandb.said == trackio.said == expected
    assert [(each[0], each[2]) for each in board] == [("doctor/alarms", 4)]
    wandb.run = None  # type: ignore[assignment]
    guard = Guard(Options(trackers=False), rank=0, run=run)
    guard.observe(4, {"loss": math.nan})
    assert len(trackio.said) == 1
    assert json.loads(run.events().read_text().splitlines()[-1])["id"] == "NUM006"
    capsys.readouterr()

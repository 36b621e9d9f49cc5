"""Phases that the guard marks: by what a trainer has, in order, and never at the trainer's cost."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.options import Options
from doctor.monitors.guard.phase_marks import MOST_WAITING, PhaseMarks, places
from doctor.monitors.guard.stuck import StuckWatch
from doctor.monitors.usage.phases import marked
from doctor.run.folder import RunDir

from .conftest import Guarded


class Llm:
    def generate(self) -> str:
        return "text"


class Grpo:
    """As TRL's trainer nests its work."""

    def __init__(self) -> None:
        self.vllm_generation = type("Generation", (), {"llm": Llm(), "sync_weights": lambda self: None})()

    def _generate_and_score_completions(self) -> list[float]:
        self.vllm_generation.sync_weights()
        return self._calculate_rewards()

    def _calculate_rewards(self) -> list[float]:
        return [1.0]

    def _save_checkpoint(self) -> None:
        raise OSError("no space left")


class Oldest:
    """As TRL 0.14: nothing of its own to generate with."""

    def __init__(self) -> None:
        self.llm = Llm()


def marks_of(folder: Path, trainer: Any, rank: int = 0) -> tuple[Guard, PhaseMarks]:
    guard = Guard(Options(), rank=rank, world_size=1, run=RunDir(folder))
    return guard, PhaseMarks(trainer, guard)


def told(folder: Path) -> list[tuple[str, str]]:
    return [
        (each["data"]["name"], each["data"]["edge"]) for each in RunDir(folder).read_events() if each["kind"] == "phase"
    ]


def test_what_a_trainer_does_is_marked_in_order(tmp_path: Path) -> None:
    trainer = Grpo()
    _, marks = marks_of(tmp_path, trainer)
    marks.attach()
    marks.step_begun()
    assert trainer._generate_and_score_completions() == [1.0]
    marks.step_ended()
    marks.detach()
    assert told(tmp_path) == [
        ("update", "begin"), ("generation", "begin"), ("weight_sync", "begin"), ("weight_sync", "end"),
        ("reward", "begin"), ("reward", "end"), ("generation", "end"), ("update", "end"),
    ]  # fmt: skip
    assert "_calculate_rewards" not in vars(trainer)
    assert next(each.name for each in marked(RunDir(tmp_path).read_events())) == "update"


def test_an_error_of_the_trainer_goes_on_and_ends_its_phase(tmp_path: Path) -> None:
    trainer = Grpo()
    _, marks = marks_of(tmp_path, trainer)
    marks.attach()
    with pytest.raises(OSError, match="no space left"):
        trainer._save_checkpoint()
    marks.detach()
    assert told(tmp_path) == [("checkpoint", "begin"), ("checkpoint", "end")]


def test_where_no_trainer_generates_the_engine_is_marked() -> None:
    assert [(type(owner), name, phase) for owner, name, phase in places(Oldest())] == [(Llm, "generate", "generation")]


def test_other_ranks_mark_nothing(tmp_path: Path) -> None:
    trainer = Grpo()
    _, marks = marks_of(tmp_path, trainer, rank=1)
    marks.attach()
    assert vars(trainer).keys() == {"vllm_generation"}


def test_a_generation_is_told_when_it_begins(tmp_path: Path) -> None:
    trainer = Grpo()
    _, marks = marks_of(tmp_path, trainer)
    seen: list[list[tuple[str, str]]] = []
    trainer._calculate_rewards = lambda: seen.append(told(tmp_path)) or [1.0]  # type: ignore[method-assign,func-returns-value]
    marks.attach()
    marks.step_begun()
    trainer._generate_and_score_completions()
    assert seen[0][:2] == [("update", "begin"), ("generation", "begin")]


STEP = ["begin", "begin", "begin", "end", "begin", "end", "end", "end"]


def two_steps(folder: Path) -> tuple[Guard, PhaseMarks]:
    """Behind one another, so that the marks of the second one wait."""
    trainer = Grpo()
    guard, marks = marks_of(folder, trainer)
    marks.attach()
    for _ in range(2):
        marks.step_begun()
        trainer._generate_and_score_completions()
        marks.step_ended()
    assert [edge for _, edge in told(folder)] == STEP[:2]
    return guard, marks


def test_marks_that_wait_are_written_by_the_watch(tmp_path: Path) -> None:
    guard, marks = two_steps(tmp_path)
    watch = StuckWatch(guard, at_least_s=1.0)
    watch.on_tick.append(marks.write)
    end = time.monotonic() + 20
    while len(told(tmp_path)) < 2 * len(STEP) and time.monotonic() < end:
        time.sleep(0.02)
    watch.close()
    assert [edge for _, edge in told(tmp_path)] == 2 * STEP


def test_marks_that_wait_are_written_with_an_exception(tmp_path: Path) -> None:
    guard, _ = two_steps(tmp_path)
    guard.exception(RuntimeError("out of memory"))
    assert [edge for _, edge in told(tmp_path)] == 2 * STEP


def test_marks_do_not_wait_without_end(tmp_path: Path) -> None:
    _, marks = two_steps(tmp_path)
    for _ in range(MOST_WAITING):
        marks.step_begun()
        marks.step_ended()
    assert len(told(tmp_path)) >= 2 * MOST_WAITING


def test_a_bug_of_ours_switches_the_marks_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    trainer = Grpo()
    _, marks = marks_of(tmp_path, trainer)
    marks.attach()
    monkeypatch.setattr(marks, "_write", lambda: 1 / 0)
    assert trainer._generate_and_score_completions() == [1.0]
    assert "switched off" in capsys.readouterr().err


@pytest.mark.process
def test_phases_of_a_real_run(guarded: Any) -> None:
    run: Guarded = guarded("healthy")
    found = {each.name for each in marked(run.run.read_events())}
    assert {"generation", "reward", "update"} <= found
    assert run.result["own"] == []

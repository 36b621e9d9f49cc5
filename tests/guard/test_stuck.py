"""Runs that make no step any more: noticed while they stand, with the stacks of the ranks that stand."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import pytest

from doctor.catalogue.standing import Standing
from doctor.monitors.guard import stuck
from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.stacks import is_long, runs
from doctor.monitors.guard.stuck import StuckWatch
from doctor.run.folder import VARIABLE, Events, RunDir
from tests.ports import free_port

PROGRAM = Path(__file__).parent / "programs" / "stands.py"


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return RunDir.create("test", tmp_path)


def _events(run: RunDir, kind: str) -> list[dict[str, object]]:
    return [each for each in run.read_events() if each["kind"] == kind]


def _started(run: RunDir, case: str, **variables: str) -> subprocess.Popen[str]:
    environment = {**os.environ, VARIABLE: str(run.path), "OMP_NUM_THREADS": "1", **variables}
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), case], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _until(what: object, seconds: float = 40) -> bool:
    end = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < end:  # type: ignore[operator]
        time.sleep(0.05)
    return bool(found)


@pytest.mark.parametrize(("goes_on", "severity"), [(None, "warning"), (lambda: True, "error")])
def test_a_step_that_never_comes_is_told_once_with_its_stack(
    goes_on: Callable[[], bool] | None, severity: str, run: RunDir, capsys: pytest.CaptureFixture[str]
) -> None:
    """A loop of one's own may be over: nothing tells the guard so."""
    guard = Guard(rank=0, world_size=1, run=run, rules=[])
    watch = StuckWatch(guard, factor=3, at_least_s=2, goes_on=goes_on)

    def never_comes_back() -> None:
        _until(lambda: _events(run, "alarm"))
        time.sleep(1)

    try:
        for step in range(6):
            watch.beat(step)
            time.sleep(0.02)
        never_comes_back()
    finally:
        watch.close()
    (hang,) = _events(run, "hang")
    (alarm,) = _events(run, "alarm")
    assert (hang["step"], alarm["id"], alarm["data"]["severity"]) == (5, "LCH023", severity)  # type: ignore[index]
    assert "never_comes_back" in Path(hang["data"]["file"]).read_text()  # type: ignore[index]
    assert "No step for" in capsys.readouterr().err


def test_a_training_that_an_exception_has_ended_is_not_called_stuck(run: RunDir) -> None:
    def training() -> None:
        frame = sys._getframe()
        guard = Guard(rank=0, world_size=1, run=run, rules=[])
        goes_on = functools.partial(runs, threading.get_ident(), frame.f_code)
        watches.append(StuckWatch(guard, factor=3, at_least_s=0.5, goes_on=goes_on))
        for step in range(6):
            watches[0].beat(step)
            time.sleep(0.02)
        assert goes_on()
        raise RuntimeError("as in a notebook")

    watches: list[StuckWatch] = []
    with pytest.raises(RuntimeError):
        training()
    assert _until(watches[0]._ended.is_set, 10)
    assert _events(run, "hang") == []


def test_steps_and_other_signs_of_life_keep_it_silent(run: RunDir) -> None:
    guard = Guard(rank=0, world_size=1, run=run, rules=[])
    watch = StuckWatch(guard, factor=3, at_least_s=1.5)
    for step in range(8):
        watch.beat(step)
        time.sleep(0.05)
    for _ in range(12):  # an evaluation: the same step all along
        watch.beat(7)
        time.sleep(0.25)
    watch.close()
    assert _events(run, "hang") == []
    assert watch.usual_s == pytest.approx(0.05, rel=0.8)


def test_before_a_usual_step_is_known_the_limit_is_long(run: RunDir) -> None:
    watch = StuckWatch(Guard(rank=0, world_size=1, run=run, rules=[]), at_least_s=1)
    watch.beat(0)
    watch.beat(1)
    assert watch.usual_s is None
    assert watch.limit_s == 1800
    watch.close()


def test_a_long_step_now_and_then_is_usual(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = StuckWatch(Guard(rank=0, world_size=1, run=run, rules=[]), at_least_s=0.2)
    clock = [0.0]
    monkeypatch.setattr(stuck, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    for step in range(12):
        clock[0] += 0.3 if step == 6 else 0.01
        watch.beat(step)
    watch.close()
    assert watch.usual_s == pytest.approx(0.01)
    assert watch.limit_s == pytest.approx(0.6)


def test_who_saves_or_compiles_is_given_more_time() -> None:
    site = "/opt/venv/lib/python3.11/site-packages"
    saving = (("/opt/lib/python3.11/pickle.py", 7, "dump"), (f"{site}/transformers/trainer.py", 9, "_save_checkpoint"))
    assert is_long(saving)
    assert not is_long((("/home/me/save.py", 9, "_save_checkpoint"), (f"{site}/transformers/trainer.py", 9, "train")))


def test_probes_are_asked_once_at_half_the_limit(run: RunDir) -> None:
    asked: list[int] = []
    begun_ns = time.time_ns()
    probe = lambda: asked.append(time.time_ns())  # noqa: E731
    watch = StuckWatch(Guard(rank=0, world_size=1, run=run, rules=[]), first_s=2, probes=(probe,))
    assert _until(lambda: _events(run, "hang"))  # at the whole limit
    watch.close()
    (at_ns,) = asked
    assert begun_ns + 10**9 < at_ns < _events(run, "hang")[0]["t_ns"]  # type: ignore[operator]


def test_a_failing_watch_ends_alone(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> None:
        raise RuntimeError("bug of ours")

    watch = StuckWatch(Guard(rank=0, world_size=1, run=run, rules=[]), first_s=1, probes=(fails,))
    said: list[str] = []
    assert _until(lambda: said.append(capsys.readouterr().err) or "bug of ours" in said[-1])
    time.sleep(1)  # its limit
    watch.beat(1)
    watch.close()
    assert _events(run, "hang") == []


@pytest.mark.process
def test_a_process_that_was_stopped_is_not_stuck(run: RunDir) -> None:
    process = _started(run, "steps")
    try:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGSTOP)
        time.sleep(5)
        process.send_signal(signal.SIGCONT)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert out.endswith("done\n")
    assert _events(run, "hang") == []


@pytest.mark.process
def test_code_that_holds_the_interpreters_lock_is_seen_by_its_watchdog(run: RunDir) -> None:
    process = _started(run, "lock")
    dumps = lambda: [each.read_text() for each in run.path.glob("stacks/*-lock.txt") if each.stat().st_size]  # noqa: E731
    try:
        assert _until(dumps), process.stderr.read() if process.poll() is not None and process.stderr else "no dump"
    finally:
        process.kill()
        process.communicate()
    assert "holds_the_lock" in dumps()[0]


@pytest.mark.process
def test_of_two_ranks_the_one_outside_of_the_collective_is_named(run: RunDir) -> None:
    pytest.importorskip("torch")
    port = str(free_port())
    processes = [
        _started(run, "gloo", RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
        for rank in (0, 1)
    ]
    try:
        assert _until(lambda: _events(run, "alarm"), 90)
        for each in processes:
            assert each.poll() is None, "it stands still and goes on standing: the watch ends nobody"
    finally:
        for each in processes:
            each.kill()
        errors = [each.communicate()[1] for each in processes]
    (alarm,) = _events(run, "alarm")
    words = alarm["data"]["words"]["en"]  # type: ignore[index]
    assert alarm["id"] == "LCH023"
    assert alarm["data"]["where"]["rank"] == 1  # type: ignore[index]
    assert "rank 1 is in `reward_that_hangs (stands.py:" in words["headline"]
    assert "wait in `all_reduce`, and rank 1 is not among them" in words["explanation"]
    assert "rank 1 is in `reward_that_hangs" in errors[0]
    assert len(list(run.path.glob("stacks/rank[01]-*.txt"))) >= 2


@pytest.mark.parametrize(("speaks", "behind"), [(True, [1]), (False, [])])
def test_a_rank_that_speaks_late_is_waited_for(
    run: RunDir, monkeypatch: pytest.MonkeyPatch, speaks: bool, behind: list[int]
) -> None:
    """On a busy machine; the wait has an end where a rank says nothing at all."""
    monkeypatch.setattr(stuck, "_LATE_S", 30.0 if speaks else 0.5)
    monkeypatch.setattr(
        stuck.stacks, "of_main", lambda: (("/lib/torch/distributed/distributed_c10d.py", 9, "all_reduce"),)
    )
    watch = StuckWatch(Guard(rank=0, world_size=2, run=run, rules=[]), first_s=1)
    try:
        assert _until(lambda: _events(run, "hang"))
        time.sleep(watch._settle_s + 0.5)  # it looks for the others now
        if speaks:
            other = Standing(1, 2, None, 3.0, None, (("train.py", 3, "reward"),))
            Events(run, rank=1).write("hang", step=None, **other.as_data())
        assert _until(lambda: _events(run, "alarm"))
    finally:
        watch.close()
    (alarm,) = _events(run, "alarm")
    where = alarm["data"]["where"]  # type: ignore[index]
    assert [where[name] for name in ("rank",) if name in where] == behind


def test_a_watch_that_ends_leaves_no_empty_file(run: RunDir) -> None:
    guard = Guard(rank=0, world_size=1, run=run, rules=[])
    watch = StuckWatch(guard, at_least_s=1, first_s=4)
    assert _until(lambda: list(run.path.glob("stacks/*-lock.txt")))
    watch.close()
    assert not list(run.path.glob("stacks/*"))


def test_a_watch_that_is_closed_while_it_arms_its_watchdog_leaves_none(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = StuckWatch(Guard(rank=0, world_size=1, run=run, rules=[]))
    closer = threading.Thread(target=watch.close)
    done: list[str] = []

    def armed(_seconds: float, *, exit: bool, file: IO[str]) -> None:  # noqa: A002, ARG001 - faulthandler's own
        closer.start()
        closer.join(0.3)  # what would be closed too early is closed now
        file.fileno()
        done.append("armed")

    monkeypatch.setattr(stuck.faulthandler, "dump_traceback_later", armed)
    monkeypatch.setattr(stuck.faulthandler, "cancel_dump_traceback_later", lambda: done.append("cancelled"))
    watch._arm(60)
    closer.join()
    watch._arm(60)  # a look that was under way meanwhile
    assert done == ["armed", "cancelled"]
    assert not list(run.path.glob("stacks/*"))


def test_a_fork_leaves_the_watchdog_to_its_parent(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = StuckWatch(Guard(rank=0, world_size=1, run=run, rules=[]))
    watch._arm(60)
    with monkeypatch.context() as child:
        child.setattr(stuck.os, "getpid", lambda: 1)
        watch.close()
    assert list(run.path.glob("stacks/*-lock.txt"))
    watch.close()
    assert not list(run.path.glob("stacks/*"))

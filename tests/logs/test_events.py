"""What the guard left in a run folder, in the post-mortem."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.checks.numerics.loss_or_gradient_not_finite import PROBLEM
from doctor.core.alarm import as_data
from doctor.core.finding import Evidence, Message, Role, Where, Words, found
from doctor.core.run_dir import RunDir
from doctor.core.standing import Standing
from doctor.logs import events
from doctor.logs.postmortem import Postmortem, examine, prepare

SITE = "/opt/venv/lib/python3.11/site-packages"
WAITS = ((f"{SITE}/torch/distributed/distributed_c10d.py", 10, "all_gather"),)
STAYS = (("/home/me/train.py", 31, "asks_a_server"),)
SAID = Message(en=Words("the {what} holds NaN", "It is {{lost}}.", "Go back."))
PREPARED = prepare()


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return RunDir.create("test", tmp_path)


@pytest.fixture
def tell(run: RunDir) -> Callable[..., None]:
    """A function that writes an event as the guard of a rank does."""
    clock = iter(range(1_700_000_000_000_000_000, 1_800_000_000_000_000_000, 1_000_000_000))

    def write(
        kind: str, rank: int | None = 0, step: int | None = None, problem: str | None = None, **data: Any
    ) -> None:
        event = {"t_ns": next(clock), "host": "node1", "pid": 100 + (rank or 0), "rank": rank, "role": "trainer",
                 "step": step, "kind": kind, "id": problem, "data": data}  # fmt: skip
        path = run.events("node1", 100 + (rank or 0))
        path.parent.mkdir(exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps(event) + "\n")

    return write


def _examined(run: RunDir) -> Postmortem:
    return examine([str(run.path)], prepared=PREPARED, run_dir=str(run.path))


def _console(run: RunDir, text: str) -> None:
    run.console.parent.mkdir(exist_ok=True)
    run.console.write_text(text)
    run.write_run(argv=["train"])


def _alarm(step: int, module: str | None = None, what: str = "loss") -> dict[str, Any]:
    where = Where(rank=0, step=step, module=module)
    return as_data(found(PROBLEM, SAID, where=where, evidence=(Evidence("guard", "loss = nan"),), what=what), "stop")


def _hang(rank: int, frames: tuple[tuple[str, int, str], ...], step: int = 5) -> dict[str, Any]:
    return Standing(rank, 2, step, 130.0, 1.5, frames, "node1", 100 + rank).as_data()


def test_an_alarm_is_the_finding_and_the_one_that_names_a_module_counts(run: RunDir, tell: Callable[..., None]) -> None:
    tell("alarm", 0, 4, "NUM006", **_alarm(4))
    tell("alarm", 1, 4, "NUM006", **_alarm(4, "model.norm", "weight `model.norm`"))
    _console(run, "{'loss': 0.5}\n")
    diagnosis = _examined(run).diagnosis
    (finding,) = diagnosis.outcome.findings
    assert (finding.problem.id, finding.where.step, finding.where.module) == ("NUM006", 4, "model.norm")
    assert finding.words("en").headline == "the weight `model.norm` holds NaN"
    assert finding.words("en").explanation == "It is {lost}."
    assert diagnosis.verdict == "known"
    assert "1 problem told by the guard" in diagnosis.target.summary


def test_an_alarm_is_told_where_nothing_was_printed(run: RunDir, tell: Callable[..., None]) -> None:
    tell("alarm", 0, 4, "NUM006", **_alarm(4))
    (finding,) = _examined(run).diagnosis.outcome.findings
    assert finding.problem.id == "NUM006"


def test_the_console_and_the_guard_say_it_once(run: RunDir, tell: Callable[..., None]) -> None:
    tell("alarm", 0, 2, "NUM006", **_alarm(2, "lm_head"))
    lines = [f"{{'loss': {loss}, 'grad_norm': {norm}, 'learning_rate': 1e-06, 'epoch': {epoch}}}"
             for loss, norm, epoch in ((0.5, 1.0, 0.1), (0.0, "nan", 0.2))]  # fmt: skip
    _console(run, "\n".join(lines) + "\n")
    findings = _examined(run).diagnosis.outcome.findings
    first = findings[0]
    assert [each.problem.id for each in findings].count("NUM006") == 1
    assert (first.problem.id, first.where.module) == ("NUM006", "lm_head")
    assert any("console.log" in each.source for each in first.evidence)


def test_the_guards_own_stop_is_no_failure_but_the_end_of_its_alarm(run: RunDir, tell: Callable[..., None]) -> None:
    tell("alarm", 0, 3, "NUM006", **_alarm(3, "lm_head"))
    _console(
        run,
        'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    engine.step()\n'
        "doctor.monitors.guard.shield.GuardStop: the doctor's guard ends the run at step 3 (policy stop)\n",
    )
    done = _examined(run)
    first, *others = done.diagnosis.outcome.findings
    assert (first.problem.id, first.role, done.diagnosis.verdict) == ("NUM006", Role.CAUSE, "known")
    assert not [each for each in others if each.problem.area == "unknown"]


def test_broken_and_foreign_events_are_a_crash_of_ours_and_no_end(run: RunDir, tell: Callable[..., None]) -> None:
    tell("alarm", 0, 4, "NUM006", nonsense=True)
    tell("alarm", 0, 4, "XXX999", **_alarm(4))
    tell("hang", 0, 4, frames="none")
    _console(run, "{'loss': 0.5}\n")
    outcome = _examined(run).diagnosis.outcome
    assert not [each for each in outcome.findings if each.problem.id == "NUM006"]
    assert {each.id for each in outcome.crashed} == {"NUM006", "events"}


def test_ranks_that_stood_still_are_told_together(run: RunDir, tell: Callable[..., None]) -> None:
    for rank, frames in ((0, WAITS), (1, STAYS)):
        tell("step", rank, 5)
        tell("hang", rank, 5, **_hang(rank, frames))
    _console(run, "{'loss': 0.5}\n")
    first = _examined(run).diagnosis.outcome.findings[0]
    assert (first.problem.id, first.where.rank) == ("LCH023", 1)
    assert "asks_a_server (train.py:31)" in first.words("en").headline


def test_a_run_that_went_on_stood_still_for_nobody(run: RunDir, tell: Callable[..., None]) -> None:
    for rank, frames in ((0, WAITS), (1, STAYS)):
        tell("hang", rank, 5, **_hang(rank, frames))
        tell("step", rank, 6)
    entries = PREPARED.catalogue.entries.values()
    assert events.read([str(run.path)], entries).standstill is None


def test_an_exception_event_gives_rank_and_step_to_the_failure(run: RunDir, tell: Callable[..., None]) -> None:
    text = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    go()\n  File "train.py", line 1, in go\n    raise OddError(\'sensor 7 is gone\')\nOddError: sensor 7 is gone\n'
    tell("exception", 3, 41, type="OddError", text="sensor 7 is gone", traceback=text, thread=None)
    tell("exception", 0, 41, type="RuntimeError", text="Connection closed by peer", traceback="", thread=None)
    _console(run, text)
    first = _examined(run).diagnosis.outcome.findings[0]
    assert (first.where.rank, first.where.step) == (3, 41)
    assert "rank 3 raised OddError first" in first.evidence[-1].text


def test_an_exception_before_there_is_a_rank_is_quoted_for_none(run: RunDir, tell: Callable[..., None]) -> None:
    text = 'Traceback (most recent call last):\n  File "t.py", line 3, in <module>\n    go()\nOddError: gone\n'
    tell("exception", None, None, type="OddError", text="gone", traceback=text, thread=None)
    _console(run, text)
    first = _examined(run).diagnosis.outcome.findings[0]
    assert first.where.rank is None
    assert not [each for each in first.evidence if "rank" in each.text]


def test_an_exception_of_something_else_gives_nothing(run: RunDir, tell: Callable[..., None]) -> None:
    tell("exception", 3, 41, type="KeyError", text="'x'", traceback="", thread=None)
    _console(run, 'Traceback (most recent call last):\n  File "t.py", line 3, in <module>\n    go()\nOddError: gone\n')
    first = _examined(run).diagnosis.outcome.findings[0]
    assert (first.where.rank, first.where.step) == (None, None)


def test_exceptions_become_logs_where_no_output_was_kept(run: RunDir, tell: Callable[..., None]) -> None:
    tell("exception", 2, 7, type="OddError", text="gone", traceback="OddError: gone\n", thread=None)
    tell("exception", 1, 7, type="OddError", text="a", traceback="OddError: a\n", thread="worker")
    events.write_logs(run)
    assert [each.name for each in run.path.glob("logs/*")] == ["rank2.log"]
    _console(run, "kept\n")
    (run.path / "logs/rank2.log").unlink()
    events.write_logs(run)
    assert [each.name for each in run.path.glob("logs/*")] == ["console.log"]


@pytest.mark.parametrize(
    ("code", "problem", "headline"),
    [
        (3, "UNK002", "a process ended by `exit 3` without a traceback"),
        (137, "UNK002", "a process ended by `SIGKILL` without a traceback"),
    ],
)
def test_how_the_command_ended_is_read_from_the_run(run: RunDir, code: int, problem: str, headline: str) -> None:
    _console(run, "step 1\nstep 2\n")
    run.write_run(exit=code)
    first = _examined(run).diagnosis.outcome.findings[0]
    assert (first.problem.id, first.words().headline) == (problem, headline)
    assert first.where.file == str(run.run_json)


@pytest.mark.parametrize("code", [0, 130])
def test_a_run_that_ended_well_or_was_interrupted_did_not_break_off(run: RunDir, code: int) -> None:
    _console(run, " 40%|####      | 4/10 [00:02<00:03,  1.98it/s]\n")
    assert _examined(run).diagnosis.verdict == "unknown"
    run.write_run(exit=code)
    assert _examined(run).diagnosis.verdict == "healthy"


def test_the_end_of_the_command_comes_behind_what_led_there(run: RunDir) -> None:
    stamp = "ERROR 03-01 10:00:0{} [train.py:3] "
    trace = ["Traceback (most recent call last):", '  File "t.py", line 3, in <module>', "    go()", "OddError: gone"]
    _console(run, "".join(stamp.format(number) + line + "\n" for number, line in enumerate(trace)))
    run.write_run(exit=1)
    chain = _examined(run).diagnosis.chain
    assert [each["what"] for each in chain] == ["raised", "ended"]

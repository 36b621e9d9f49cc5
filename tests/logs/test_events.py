"""What the guard left in a run folder, in the post-mortem."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.base.evidence import Observed
from doctor.catalogue.alarm import as_data
from doctor.catalogue.finding import Message, Role, Where, Words, found
from doctor.catalogue.standing import Standing
from doctor.checks.numerics.loss_or_gradient_not_finite import PROBLEM
from doctor.checks.rl.rewards import groups_without_deviation, reward_flat
from doctor.diagnosis.report import as_dict
from doctor.logs import events
from doctor.logs.postmortem import Postmortem, examine
from doctor.run import guard_stop
from doctor.run.folder import RunDir
from tests.prepared import prepared_once

SITE = "/opt/venv/lib/python3.11/site-packages"
WAITS = ((f"{SITE}/torch/distributed/distributed_c10d.py", 10, "all_gather"),)
STAYS = (("/home/me/train.py", 31, "asks_a_server"),)
SAID = Message(en=Words("the {what} holds NaN", "It is {{lost}}.", "Go back."))
PREPARED = prepared_once()


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
    return as_data(
        found(PROBLEM, SAID, where=where, evidence=(Observed.quoted("guard", "loss = nan"),), what=what), "stop"
    )


def _hang(rank: int, frames: tuple[tuple[str, int, str], ...], step: int = 5) -> dict[str, Any]:
    return Standing(rank, 2, step, 130.0, 1.5, frames, "node1", 100 + rank).as_data()


def test_an_alarm_is_the_finding_and_the_one_that_names_a_module_counts(run: RunDir, tell: Callable[..., None]) -> None:
    tell("alarm", 0, 4, "NUM006", **_alarm(4))
    tell("alarm", 1, 4, "NUM006", **_alarm(4, "model.norm", "weight `model.norm`"))
    _console(run, "{'loss': 0.5}\n")
    diagnosis = _examined(run).diagnosis
    (finding,) = diagnosis.outcome.findings
    assert (finding.problem.id, finding.where.step, finding.where.module) == ("NUM006", 4, "model.norm")
    assert finding.words("en").headline == "The weight `model.norm` holds NaN"
    assert finding.words("en").explanation == "It is {lost}."
    assert diagnosis.verdict == "known"
    assert "1 problem reported by the guard" in diagnosis.target.summary


def test_a_consequence_that_the_guard_told_first_stays_behind_its_cause(run: RunDir, tell: Callable[..., None]) -> None:
    without, flat = groups_without_deviation.PROBLEM, reward_flat.PROBLEM
    for problem in (without, flat):
        told = found(problem, SAID, where=Where(rank=0, step=1), evidence=(Observed.quoted("guard", "0"),), what="x")
        tell("alarm", 0, 12, problem.id, **as_data(told, "warn"))
    row = (
        "{{'loss': 0.0, 'grad_norm': 0.0, 'reward': 0.0, 'reward_std': 0.0, 'frac_reward_zero_std': 1.0, 'epoch': {}}}"
    )
    _console(run, "\n".join(row.format(step / 100) for step in range(1, 16)) + "\n")
    findings = _examined(run).diagnosis.outcome.findings
    assert [(each.problem.id, each.role) for each in findings[:2]] == [
        (flat.id, Role.CAUSE), (without.id, Role.SYMPTOM),
    ]  # fmt: skip


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


def test_broken_and_foreign_events_are_told_as_unread_and_end_nothing(run: RunDir, tell: Callable[..., None]) -> None:
    tell("alarm", 0, 4, "NUM006", nonsense=True)
    tell("alarm", 0, 4, "XXX999", **_alarm(4))
    tell("hang", 0, 4, frames="none")
    _console(run, "{'loss': 0.5}\n")
    outcome = _examined(run).diagnosis.outcome
    assert not [each for each in outcome.findings if each.problem.id == "NUM006"]
    assert not outcome.crashed  # the file is at fault, no program of ours
    told = [each.reason for each in outcome.skipped if each.id == "events"]
    assert any("NUM006" in each for each in told)
    assert any("hang" in each for each in told)


def test_ranks_that_stood_still_are_told_together(run: RunDir, tell: Callable[..., None]) -> None:
    for rank, frames in ((0, WAITS), (1, STAYS)):
        tell("step", rank, 5)
        tell("hang", rank, 5, **_hang(rank, frames))
    _console(run, "{'loss': 0.5}\n")
    first = _examined(run).diagnosis.outcome.findings[0]
    assert (first.problem.id, first.where.rank) == ("LCH023", 1)
    assert "asks_a_server (train.py:31)" in first.words("en").headline


def test_a_standstill_is_told_beside_a_failure_that_it_did_not_lead_to(run: RunDir, tell: Callable[..., None]) -> None:
    for rank, frames in ((0, WAITS), (1, STAYS)):
        tell("step", rank, 5)
        tell("hang", rank, 5, **_hang(rank, frames))
    _console(run, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n")
    told = [(each.problem.id[:3], each.role) for each in _examined(run).diagnosis.outcome.findings]
    assert told[0] == ("MEM", Role.CAUSE)
    assert ("LCH", Role.CONTRIBUTING) in told


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


TOLD = """Traceback (most recent call last):
  File "/home/user/ranks.py", line 21, in come_to_grief
    raise RuntimeError("the reward server answered 502")
RuntimeError: the reward server answered 502
"""
LAUNCHER = """E1123 14:22:40.448000 11816 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) \
local_rank: 1 (pid: 11917) of binary: /usr/bin/python
"""


@pytest.mark.parametrize("console", ["", LAUNCHER])
def test_an_exception_that_no_log_holds_is_told_all_the_same(
    run: RunDir, tell: Callable[..., None], console: str
) -> None:
    tell("exception", 1, 2, type="RuntimeError", text="the reward server answered 502", traceback=TOLD, thread=None)
    tell("exception", 0, 2, type="OddError", text="a", traceback="OddError: a\n", thread="worker")
    if console:
        _console(run, console)
    result = _examined(run)
    first = result.diagnosis.outcome.findings[0]
    assert (first.problem.id, first.where.rank, first.where.step) == ("UNK001", 1, 2)
    assert "ranks.py:21" in first.words().headline
    assert not list(run.path.glob("logs/rank*.log")), "the run folder stays as it was"


def test_an_exception_that_a_log_holds_is_not_told_twice(run: RunDir, tell: Callable[..., None]) -> None:
    tell("exception", 1, 2, type="RuntimeError", text="the reward server answered 502", traceback=TOLD, thread=None)
    _console(run, TOLD.replace("\n", "\n[rank1]: "))
    assert len(_examined(run).case.sources) == 1


def test_a_standstill_that_ranks_recorded_comes_before_one_that_waited(run: RunDir, tell: Callable[..., None]) -> None:
    tell("hang", 0, 5, **_hang(0, WAITS))
    tell("hang", 1, 5, **_hang(1, STAYS))
    waited = Path(__file__).parents[1] / "postmortem" / "torchrun-gloo-timeout" / "log.txt"
    _console(run, waited.read_text())
    findings = _examined(run).diagnosis.outcome.findings
    assert [(each.problem.id, each.role.value) for each in findings[:2]] == [("LCH023", "cause"), ("NCC011", "symptom")]
    assert findings[0].where.rank == 1


@pytest.mark.parametrize(
    ("code", "problem", "headline"),
    [
        (3, "UNK002", "A process ended by `exit 3` without a traceback"),
        (137, "UNK002", "A process ended by `SIGKILL` without a traceback"),
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
    assert [each.problem.id for each in _examined(run).diagnosis.outcome.findings] == ["UNK003"]
    run.write_run(exit=code)
    diagnosis = _examined(run).diagnosis
    assert (diagnosis.outcome.findings, diagnosis.verdict, diagnosis.not_seen) == ((), "unknown", ("metrics",))


def test_the_end_of_a_time_limit_is_no_failure_of_its_own(run: RunDir, tell: Callable[..., None]) -> None:
    tell("step", 0, 5)
    tell("hang", 0, 5, **{**_hang(0, STAYS), "world_size": 1})
    _console(run, "{'loss': 0.5}\n")
    run.write_run(exit=124, argv=["timeout", "60", "python", "train.py"])
    first = _examined(run).diagnosis.outcome.findings[0]
    assert (first.problem.id, first.role) == ("LCH023", Role.CAUSE)
    assert "the process is in `asks_a_server (train.py:31)`" in first.words("en").headline


def test_a_time_limit_alone_is_no_good_end(run: RunDir) -> None:
    _console(run, " 40%|####      | 4/10 [00:02<00:03,  1.98it/s]\n")
    run.write_run(exit=124, argv=["timeout", "60", "python", "train.py"])
    assert _examined(run).diagnosis.verdict == "unknown"


def test_the_end_of_the_command_comes_behind_what_led_there(run: RunDir) -> None:
    stamp = "ERROR 03-01 10:00:0{} [train.py:3] "
    trace = ["Traceback (most recent call last):", '  File "t.py", line 3, in <module>', "    go()", "OddError: gone"]
    _console(run, "".join(stamp.format(number) + line + "\n" for number, line in enumerate(trace)))
    run.write_run(exit=1)
    chain = _examined(run).diagnosis.chain
    assert [each["what"] for each in chain] == ["raised", "ended"]


def test_a_run_that_the_guard_stopped_says_so_and_is_no_resumed_one(run: RunDir, tell: Callable[..., None]) -> None:
    tell("alarm", 0, 3, "NUM006", **_alarm(3))
    tell("stop", 0, 3, "NUM006", policy="stop", save="none")
    ended = (
        "{'train_runtime': 0.05, 'train_samples_per_second': 9.9, 'train_steps_per_second': 6.2, 'train_loss': 0.0, "
    )
    _console(run, "doctor: guard: the run stops at step 3 (NUM006); nothing was saved\n" + ended + "'epoch': 1.5}\n")
    run.write_run(exit=0)
    diagnosis = _examined(run).diagnosis
    assert [each.problem.id for each in diagnosis.outcome.findings] == ["NUM006"]
    assert "stopped by the guard at step 3: NUM006, policy stop" in diagnosis.target.summary
    stopped = as_dict(diagnosis)["target"]["stopped"]
    assert stopped == {"id": "NUM006", "step": 3, "rank": 0, "policy": "stop", "save": "none"}


def test_an_alarm_that_asked_for_a_stop_which_nobody_carried_out_is_no_stop(
    run: RunDir, tell: Callable[..., None]
) -> None:
    tell("alarm", 0, 3, "NUM006", **_alarm(3))
    _console(run, "{'loss': 0.5}\n")
    assert "stopped" not in as_dict(_examined(run).diagnosis)["target"]


@pytest.mark.parametrize("data", ["null", "[]", '{"policy": 7, "save": []}', '"x"'])
def test_a_stop_of_any_shape_is_read(run: RunDir, data: str) -> None:
    path = run.events("node1", 7)
    path.parent.mkdir()
    path.write_text(f'{{"t_ns": 1, "kind": "stop", "id": null, "data": {data}}}\n{{"kind": "stop"\n')
    stop = guard_stop.of_run(run)
    assert stop is not None
    assert (stop.id, stop.step, guard_stop.exit_code(run, 0, noted=False)) == ("", None, guard_stop.CODE)
    assert guard_stop.exit_code(run, 0, since_ns=2, noted=False) == 0

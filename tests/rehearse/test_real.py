"""`doctor rehearse` over real scripts on the real stack: mistakes are caught, what is well is left in peace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.real.runs import environment
from tests.rehearse.cases import MISTAKES, WELL, Case
from tests.rehearse.running import PROGRAMS, rehearse, tree
from tests.rehearse.test_passes import alive_with

pytestmark = pytest.mark.process

#: run with the rest; all others where slow tests are asked for
QUICK = {"grpo-7b", "reward-text-with-number", "evaluation-best-metric"}


def _cases(cases: dict[str, Case]) -> list[object]:
    marks = {True: (), False: (pytest.mark.slow,)}
    return [pytest.param(each, id=name, marks=marks[name in QUICK]) for name, each in cases.items()]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", _cases(WELL))
def test_what_is_well_is_left_in_peace(case: Case, python: Path, stage: Callable[[str], Path], tmp_path: Path) -> None:
    done = rehearse(case, python, stage(case.beside), tmp_path, environment(python, tmp_path))
    assert (done.code, done.ids, done.broken, done.report["crashed"]) == (0, [], [], []), done.report
    assert done.touched == ()
    assert {"optimizer", "loss", "backward"} <= done.reached or "/loop" in case.words[0]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", _cases(MISTAKES))
def test_a_mistake_is_caught(case: Case, python: Path, stage: Callable[[str], Path], tmp_path: Path) -> None:
    done = rehearse(case, python, stage(case.beside), tmp_path, environment(python, tmp_path))
    assert done.catches(case), (done.code, done.ids, done.broken, done.said)
    assert not case.phase or case.phase == "any" or case.phase in done.broken
    assert done.report["crashed"] == []
    assert done.touched == ()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_leaves_nothing_running_and_nothing_touched(
    python: Path, stage: Callable[[str], Path], tmp_path: Path, number: signal.Signals
) -> None:
    variables = {**environment(python, tmp_path), "STAGE": str(stage("")), "XDG_STATE_HOME": str(tmp_path / "state")}
    command = [sys.executable, "-m", "doctor", "rehearse", "--", str(python), str(PROGRAMS / "train.py"),
               str(stage("") / "base"), "right"]  # fmt: skip
    work = tmp_path / "work"
    (work / "out").mkdir(parents=True)
    (work / "out" / "mine.json").write_text("{}")
    before = {**tree(work), **tree(stage(""))}
    process = subprocess.Popen(command, cwd=work, env=variables, stdin=subprocess.DEVNULL, start_new_session=True)
    until = time.monotonic() + 240
    while not _has_trained(tmp_path / "state") and time.monotonic() < until:
        time.sleep(0.2)
    assert _has_trained(tmp_path / "state"), "it is interrupted in the middle of its training"
    os.kill(process.pid, number)
    assert process.wait(90) == 130
    assert not [each for each in alive_with(str(stage("") / "base")) if each != process.pid], "of this test alone"
    assert {**tree(work), **tree(stage(""))} == before


def _has_trained(state: Path) -> bool:
    """Whether a journal below a folder says that a training began."""
    return any('"kind": "begun"' in each.read_text() for each in state.rglob("journal/*.jsonl"))

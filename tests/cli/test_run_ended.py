"""A run that ended with 0 and went wrong all the same: its end says so in two lines, after a bounded time."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

from doctor.cli import run as run_command
from doctor.cli import run_ended
from doctor.cli.options import UserSettings
from doctor.cli.run_words import Voice
from doctor.run.folder import RunDir
from tests.logs.test_history import made

NAME = "20260302T101500Z-python"
FLAT = [0.0] * 60
RISES = [0.1 + 0.01 * step + 0.02 * (step * 7 % 5) for step in range(60)]


def said(run: RunDir, capsys: pytest.CaptureFixture[str], language: str = "en") -> list[str]:
    told = run_command._found_nevertheless(run, UserSettings(), Voice(language))
    lines = capsys.readouterr().err.splitlines()
    assert told is bool(lines)
    return lines


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' machine may be busy with other tests."""
    monkeypatch.setattr(run_ended, "_LEAST_S", 60.0)
    monkeypatch.setattr(run_ended, "_MOST_S", 60.0)


@pytest.mark.usefixtures("patient")
def test_a_reward_that_never_rose_is_said_in_two_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = RunDir(made(tmp_path, NAME, "python", "train.py", code=0, rewards=FLAT))
    first, second = said(run, capsys)
    assert first.startswith("doctor: the command ended with 0, but likely: RLX008 reward-flat: ")
    assert second.endswith(f"figures and phases: doctor report {run.path}")
    first, second = said(run, capsys, "zh")
    assert first.startswith("doctor: 命令以 0 结束,但很可能:RLX008 reward-flat:")
    assert second.endswith(f"数据与各阶段:doctor report {run.path}")


@pytest.mark.usefixtures("patient")
def test_a_run_that_went_well_says_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not said(RunDir(made(tmp_path, NAME, "python", "train.py", code=0, rewards=RISES)), capsys)


@pytest.mark.usefixtures("patient")
def test_the_command_of_a_run_is_nobodys_word_on_another_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = 'for i in range(12): print({"loss": 2 - i / 12, "learning_rate": 1e-5, "epoch": i / 12})'
    run = RunDir(made(tmp_path, NAME, "python3", "-c", code, code=0))
    rows = [{"loss": 2 - step / 12, "learning_rate": 1e-5, "epoch": step / 12} for step in range(12)]
    run.console.write_text("\n".join(map(str, [*rows, {"train_runtime": 3.0}])) + "\n")
    assert not said(run, capsys)


@pytest.mark.usefixtures("patient")
def test_a_run_without_logs_says_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = RunDir(tmp_path / NAME)
    run.path.mkdir()
    assert not said(run, capsys)


def test_a_judgement_that_takes_long_is_given_up_and_said_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*_: Any) -> Any:
        time.sleep(60)

    monkeypatch.setattr(run_ended, "_findings", slow)
    monkeypatch.setattr(run_ended, "_LEAST_S", 0.1)
    begun = time.monotonic()
    (line,) = said(RunDir(made(tmp_path, NAME, "python", "train.py", code=0, rewards=FLAT)), capsys)
    assert time.monotonic() - begun < 10
    assert line.startswith("doctor: the logs were not judged within ")
    waited = re.search(r"within ([\d.]+) s; verdict, figures and phases: doctor report ", line)
    assert waited
    assert 0.1 <= float(waited[1]) < 10


def test_a_bug_of_the_judgement_is_not_read_as_health(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise LookupError

    monkeypatch.setattr(run_ended, "_findings", broken)
    (line,) = said(RunDir(made(tmp_path, NAME, "python", "train.py", code=0, rewards=FLAT)), capsys)
    assert "the logs were not judged" in line


@pytest.mark.parametrize(("run_s", "seconds"), [(1, 1.5), (600, 1.5), (3600, 3.6), (10**6, 10)])
def test_the_end_of_a_run_waits_about_a_second_and_never_more_than_a_thousandth_of_a_long_run(
    run_s: float, seconds: float
) -> None:
    assert run_ended.patience(run_s) == pytest.approx(seconds)

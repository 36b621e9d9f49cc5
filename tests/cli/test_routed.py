"""Files and launch commands that stand for a command, and texts that stand for a problem."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.cells import cell_len

from doctor.cli.app import COMMANDS, routed
from doctor.cli.first_screen import SUMMARIES
from tests.commands import run_doctor


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a log, a script, a run folder, a folder of logs, and a file that is named as a command."""
    for name in ("train.log", "train.py", "launch.sh", "gpu.csv", "check", "runs"):
        (tmp_path / name).touch()
    run = tmp_path / "doctor-runs" / "20260301T101500Z-python"
    run.mkdir(parents=True)
    (run / "run.json").write_text("{}")
    (tmp_path / "logs").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("train.log --format json", "postmortem train.log --format json"),
        ("logs", "postmortem logs"),
        ("train.py --lr 1e-5", "check -- python train.py --lr 1e-5"),
        ("launch.sh", "check -- bash launch.sh"),
        ("-- accelerate launch train.py", "check -- accelerate launch train.py"),
        ("-- check", "check -- check"),
        ("doctor-runs/20260301T101500Z-python", "report doctor-runs/20260301T101500Z-python"),
        ("gpu.csv", "report gpu.csv"),
        ("check --help", "check --help"),
        ("runs", "runs"),
        ("./check", "postmortem ./check"),
        ("absent.log", "absent.log"),
        ("--version", "--version"),
        ("", ""),
    ],
)
def test_what_stands_for_what(words: str, meant: str) -> None:
    assert routed(words.split()) == meant.split()


def test_a_log_alone_is_a_post_mortem(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("RuntimeError: CUDA error: device-side assert triggered\n")
    done = run_doctor("train.log", "--format", "json", cwd=tmp_path)
    report = json.loads(done.stdout)
    assert (report["command"], report["findings"][0]["id"]) == ("postmortem", "TOR012")


def test_a_script_alone_is_a_check(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('hello')\n")
    done = run_doctor("train.py", cwd=tmp_path)
    assert "`python" in done.stdout or "python" in done.stdout
    assert "There is no command" not in done.stderr
    assert "checks" in done.stdout


def test_a_pasted_error_text_is_found(tmp_path: Path) -> None:
    text = "RuntimeError: CUDA error: device-side assert triggered"
    done = run_doctor("explain", text, "--format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["findings"][0]["id"] == "TOR012"
    assert {each["source"] for each in report["findings"][0]["evidence"]} == {"text"}
    shown = run_doctor("explain", *text.split(), cwd=tmp_path)
    assert "TOR012 cuda-device-assert" in shown.stdout


def test_a_text_that_nothing_knows_is_said_to_be_unknown(tmp_path: Path) -> None:
    done = run_doctor("explain", "the cat sat on the mat", cwd=tmp_path)
    assert done.returncode == 1
    assert "Cause found" not in done.stdout


def test_one_word_is_a_name(tmp_path: Path) -> None:
    done = run_doctor("explain", "cuda-device-asert", cwd=tmp_path)
    assert done.returncode == 2
    assert "cuda-device-assert" in done.stderr


def test_every_command_loads() -> None:
    from doctor.cli.app import app

    assert all(app.get_command(None, name) is not None for name in COMMANDS)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("trian.log", "The file `trian.log` does not exist. Did you mean `train.log`?"),
        ("./trian.log", "The file `./trian.log` does not exist. Did you mean `./train.log`?"),
        ("no.csv", "The file `no.csv` does not exist.\n"),
        ("runs/x.log", "The file `runs/x.log` does not exist.\n"),
        ("chekc", "There is no command `chekc`. The nearest is `check`."),
        ("train", "There is no command `train`."),
    ],
)
def test_a_file_that_is_not_there_is_named(word: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("\n")
    done = run_doctor(word, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.process
@pytest.mark.parametrize(("words", "code"), [((), 2), (("--help",), 0)], ids=["bare", "help"])
def test_the_first_screen_is_chinese_in_a_chinese_locale(words: tuple[str, ...], code: int, tmp_path: Path) -> None:
    done = run_doctor(*words, cwd=tmp_path, env={"LC_ALL": "zh_CN.UTF-8"})
    screen = done.stdout + done.stderr
    assert done.returncode == code
    assert "错误" not in screen.splitlines()[0]
    assert [line.split()[0] for line in screen.partition("命令:\n")[2].splitlines() if line][:-3] == list(SUMMARIES)
    assert max(map(cell_len, screen.splitlines())) <= 80
    assert set(SUMMARIES) == set(COMMANDS) - {"dev"}

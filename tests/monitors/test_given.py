"""What a shell gives a command arrives through the doctor, and files of the user's do not stand in its own way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

DOCTOR = f"{sys.executable} -m doctor run --no-check --no-monitor --"


def shell(folder: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script of bash, in which `@` stands for `doctor run --`."""
    environment = {name: each for name, each in os.environ.items() if name not in ("PYTHONPATH", "PWD")}
    return subprocess.run(
        ["bash", "-c", script.replace("@", DOCTOR)], cwd=folder, env={**environment, **variables}, text=True,
        stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=90,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("script", "out"),
    [
        ("@ cat <(echo one) <(echo two)", "one\ntwo\n"),
        ("exec 9>out; @ sh -c 'echo there >&9'; cat out", "there\n"),
        ("exec 7</dev/null; @ sh -c 'ls /proc/self/fd' | sort | tail -n +1 | grep -c 7", "1\n"),
        ("mkfifo c.yaml; (echo a > c.yaml) & @ cat c.yaml", "a\n"),
    ],
)
def test_files_that_are_handed_over_arrive_unread(tmp_path: Path, script: str, out: str) -> None:
    done = shell(tmp_path, script)
    assert (done.returncode, done.stdout) == (0, out), done.stderr


def test_a_check_reads_no_pipe(tmp_path: Path) -> None:
    words = f"{sys.executable} -c 'import sys; print(*[open(each).read() for each in sys.argv[1:]])'"
    named = "<(echo lr) <(echo rows) <(echo a)"
    done = shell(tmp_path, f"{sys.executable} -m doctor run --no-monitor -- {words} {named}")
    assert done.stdout.endswith("lr\n rows\n a\n\n"), done.stderr


@pytest.mark.parametrize(
    ("content", "out", "code"),
    [("echo plain $1\n", "plain x\n", 0), ("exit 6\n", "", 6), ("\x7fELF\0\0", "", 126)],
)
def test_a_script_without_a_first_line_is_run_as_execvp_does(tmp_path: Path, content: str, out: str, code: int) -> None:
    (tmp_path / "train").write_text(content)
    (tmp_path / "train").chmod(0o755)
    done = shell(tmp_path, "@ ./train x")
    assert (done.returncode, done.stdout) == (code, out), done.stderr


def test_where_a_second_process_cannot_be_started_the_command_takes_the_place_of_the_first(tmp_path: Path) -> None:
    done = shell(tmp_path, "ulimit -n 10; @ sh -c 'echo runs; exit 5'")
    assert (done.returncode, done.stdout) == (5, "runs\n"), done.stderr
    assert "the command runs without the doctor" in done.stderr


def test_the_doctor_inside_of_the_doctor_is_the_whole_one(tmp_path: Path) -> None:
    done = shell(tmp_path, "@ @ sh -c 'echo inside; exit 7'")
    assert (done.returncode, done.stdout) == (7, "inside\n"), done.stderr


@pytest.mark.parametrize("on_path", [False, True])
def test_files_of_the_user_with_names_of_modules_stand_in_nobodys_way(tmp_path: Path, on_path: bool) -> None:
    folder = tmp_path / "src"
    folder.mkdir()
    names = ("click", "rich", "psutil", "packaging") + (() if on_path else ("json", "typing", "signal", "subprocess"))
    for name in names:
        (folder / f"{name}.py").write_text("print('mine')\n")
    if on_path:
        done = shell(tmp_path, f"@ {sys.executable} -c 'import click'", PYTHONPATH=str(folder))
    else:
        done = shell(folder, f"@ {sys.executable} click.py")
    assert (done.returncode, done.stdout) == (0, "mine\n"), done.stderr


def test_an_output_that_takes_nothing_more_is_told(tmp_path: Path) -> None:
    done = shell(tmp_path, "@ sh -c 'echo one; echo two >&2' >/dev/full")
    assert done.returncode == 0
    assert "doctor: the output cannot be written any further where it goes (No space left on device)" in done.stderr
    assert "\ntwo\n" in done.stderr
    (log,) = tmp_path.glob("doctor-runs/2*/logs/console.log")
    assert sorted(log.read_text().splitlines()) == ["one", "two"]


def test_a_reader_that_has_gone_is_not(tmp_path: Path) -> None:
    done = shell(tmp_path, "@ seq 100000 | head -1")
    assert done.stdout == "1\n"
    assert "cannot be written" not in done.stderr


def test_a_folder_that_takes_the_place_of_the_runs_own_stays_as_it_is(tmp_path: Path) -> None:
    script = (
        "import os; (run,) = (each for each in os.scandir('doctor-runs') if each.name[0] == '2');"
        "os.rename(run.path, 'moved'); os.symlink(os.path.abspath('other'), run.path); print('on')"
    )
    (tmp_path / "other").mkdir()
    done = shell(tmp_path, f'@ {sys.executable} -c "{script}"')
    assert (done.returncode, done.stdout) == (0, "on\n"), done.stderr
    assert list((tmp_path / "other").iterdir()) == []

"""A package, a module or a folder of the user's called `doctor`, too: the command starts, and theirs is theirs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.base.own_start import own_module
from doctor.rehearse.name_taken import name_taken

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
START = ROOT / "grpo_doctor.py"
THEIRS = "raise SystemExit('theirs was run')\n"
OWN = {
    "a package": {"doctor/__init__.py": THEIRS, "doctor/__main__.py": THEIRS, "doctor/cli/__init__.py": THEIRS},
    "a module": {"doctor.py": THEIRS},
    "a folder": {"doctor/data.json": "{}"},
    "a package beside rich": {"doctor/__init__.py": THEIRS, "rich.py": THEIRS, "click/__init__.py": THEIRS},
}


@pytest.fixture(params=OWN)
def own(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    for name, text in OWN[request.param].items():
        path = tmp_path / "own" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "own"


def _run(words: list[str], folder: Path, path: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        words, cwd=folder, env=environ, capture_output=True, text=True, timeout=100, check=False
    )  # fmt: skip


def test_the_console_scripts_do_not_go_by_the_name_of_the_package() -> None:
    declared = (ROOT / "pyproject.toml").read_text().partition("[project.scripts]\n")[2].partition("\n\n")[0]
    scripts = dict(each.split(" = ") for each in declared.splitlines())
    assert scripts == {"doctor": '"grpo_doctor:main"', "grpo-doctor": '"grpo_doctor:main"'}


@pytest.mark.parametrize("path", ["{own}", ".", "{own}/../absent:{own}", ""])
def test_the_command_starts(own: Path, path: str) -> None:
    ran = _run([sys.executable, str(START), "explain", "TRL002"], own, path.format(own=own))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("# TRL")


def test_a_module_of_ours_starts_as_a_process(own: Path) -> None:
    ran = _run([*own_module("doctor.monitors.sampler.sampling"), "--help"], own, str(own))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "--watch" in ran.stdout


def test_a_run_is_sampled_and_keeps_its_own(tmp_path: Path) -> None:
    """The program's own module is what it imports, and the sampler is not misled by it."""
    (tmp_path / "doctor.py").write_text("X = 3\n")
    (tmp_path / "t.py").write_text("import doctor, time; time.sleep(2); print('own', doctor.X)\n")
    words = [sys.executable, str(START), "run", "--no-check", "--", sys.executable, "t.py"]
    ran = _run(words, tmp_path, str(tmp_path))
    assert ran.returncode == 0
    assert "own 3\n" in ran.stdout
    (host,) = (each for each in (tmp_path / "doctor-runs").glob("2*/host/*.csv") if "processes" not in each.name)
    assert len(host.read_text().splitlines()) > 2


@pytest.mark.parametrize(
    ("files", "argv", "path", "expected"),
    [
        (["doctor/__init__.py", "train.py"], ["python", "train.py"], "", "doctor"),
        (["doctor.py", "train.py"], ["torchrun", "train.py"], "", "doctor.py"),
        (["src/doctor/a.py", "src/train.py"], ["python", "src/train.py"], "", "src/doctor"),
        (["src/doctor/a/b.py"], ["python", "-m", "x"], "src", "src/doctor"),
        (["doctor/a.jsonl", "train.py"], ["python", "train.py"], "", None),
        (["doctor/monitors/inject/attach.py", "train.py"], ["python", "train.py"], "", None),
        (["doctor/__init__.py", "src/train.py"], ["python", "src/train.py"], "", None),
        (["doctor/__init__.py"], ["python", "-m", "x"], "", "doctor"),
    ],
)
def test_a_rehearsal_sees_that_its_name_is_taken(
    files: list[str], argv: list[str], path: str, expected: str | None, tmp_path: Path
) -> None:
    for each in files:
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / each).touch()
    found = name_taken(argv, tmp_path, {"PYTHONPATH": path})
    assert found == (None if expected is None else tmp_path / expected)


def test_a_rehearsal_says_so_instead_of_failing(tmp_path: Path) -> None:
    (tmp_path / "doctor.py").write_text("X = 3\n")
    (tmp_path / "t.py").write_text("import doctor; print(doctor.X)\n")
    for language, words in (("en", "a `doctor` of its own"), ("zh", "程序自己有名为 `doctor` 的模块")):
        command = [sys.executable, str(START), "rehearse", "--lang", language, "--", sys.executable, "t.py"]
        ran = _run(command, tmp_path, "")
        assert ran.returncode == 2
        assert words in ran.stderr

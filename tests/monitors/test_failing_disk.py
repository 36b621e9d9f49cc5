"""Runs whose folder lies on a disk that fails midway, in any of the ways that a system has a number for."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from doctor.catalogue.unrecognised import Unknown, Unrecorded
from doctor.checks.unknown.log_not_recorded import answer
from doctor.monitors import inject
from doctor.readers.patient.carry import lay_hook
from doctor.run import aside
from doctor.run.disk import refusal
from doctor.run.folder import ROOM, Events, RunDir
from tests.commands import run_doctor
from tests.facts.environments import interpreter, venv
from tests.failing_disk import failing_disk
from tests.homes import with_cache
from tests.monitors.test_console import ALL, PRINTS, small

__all__ = ["small"]  # the fixture

pytestmark = pytest.mark.process

#: numbers, and a word of what is said of each
TOLD = {
    errno.EDQUOT: "quota", errno.EIO: "input/output error", errno.ESTALE: "network file system",
    errno.ENOTCONN: "network file system", errno.EROFS: "read-only", errno.ENODEV: "input/output error",
    errno.ENOSPC: "was full", errno.EPERM: "could not be recorded", 200: "could not be recorded",
}  # fmt: skip
#: what the doctor lays down before the command starts takes about 1.3 MB
BEGUN = 1_900_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "disk"
    made.mkdir()
    return made


def doctor(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    root = folder.parent
    only = {
        "PATH": os.environ["PATH"], "HOME": str(with_cache(root / "home")), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8",
        "XDG_STATE_HOME": str(root / "state"),
    }  # fmt: skip
    return run_doctor(*words, cwd=folder, only=only)


def mounted(why: str) -> None:
    if why:
        pytest.skip(why)


def reason_of(number: int) -> str:
    return os.strerror(number)


@pytest.mark.parametrize("number", TOLD, ids=lambda number: errno.errorcode.get(number, str(number)))
def test_a_disk_that_takes_nothing_more_is_named(folder: Path, number: int) -> None:
    """The run goes on, and the post-mortem names the disk: at once, and later, by the note that lies aside."""
    with failing_disk(folder, number, BEGUN, everything=False) as why:
        mounted(why)
        done = doctor(folder, "run", "--no-check", "--", sys.executable, "-c", PRINTS)
        assert (done.returncode, done.stdout) == (5, ALL), done.stderr
        assert "Traceback" not in done.stderr
        assert done.stderr.count(f"the console is not kept completely: {reason_of(number)}") == 1, done.stderr
        assert "UNK003" not in done.stderr
        (headline,) = [line for line in done.stderr.splitlines() if "UNK004" in line]
        assert TOLD[number] in headline
        assert "the guard watched nothing" not in done.stderr
        assert f"could not be written into the run folder ({reason_of(number)})" in done.stderr
        (run,) = (folder / "doctor-runs").glob("2*")
        assert "exit" not in RunDir(run).read_run()
        later = doctor(folder, "postmortem", str(run), "--format", "json")
        found = json.loads(later.stdout)["findings"][0]
        assert found["id"] == "UNK004"
        assert TOLD[number] in found["headline"]
        assert all(each["source"] != str(RunDir(run).run_json) for each in found["evidence"])


@pytest.mark.parametrize("words", [("run", "--no-check"), ("monitor", "--during-run")])
@pytest.mark.parametrize("number", [errno.EDQUOT, errno.EIO, errno.ESTALE])
def test_a_disk_that_gives_nothing_back_either_is_named(folder: Path, number: int, words: tuple[str, ...]) -> None:
    with failing_disk(folder, number, BEGUN, everything=True) as why:
        mounted(why)
        done = doctor(folder, *words, "--", sys.executable, "-S", "-c", PRINTS)
    assert (done.returncode, done.stdout) == (5, ALL), done.stderr
    assert "Traceback" not in done.stderr
    assert f"can no longer be read ({reason_of(number)})" in done.stderr
    assert "watched nothing" not in done.stderr
    assert "figures in" not in done.stderr


#: waits for the sampler's first rows, so that the figures begin before the disk fails and end with it
WAITS = (
    "import glob, os, sys, time\n"
    "while not any(map(os.path.getsize, glob.glob('doctor-runs/*/host/*.csv'))): time.sleep(0.05)\n"
)


@pytest.mark.parametrize("begun", [False, True], ids=["before-the-first-row", "after-the-first-row"])
@pytest.mark.parametrize("number", [errno.EDQUOT, errno.ESTALE])
def test_a_monitor_says_why_it_has_no_figures(folder: Path, number: int, *, begun: bool) -> None:
    with failing_disk(folder, number, 200_000, everything=False) as why:
        mounted(why)
        program = f"{WAITS if begun else ''}{PRINTS}"
        done = doctor(folder, "monitor", "--during-run", "--", sys.executable, "-c", program)
    assert (done.returncode, done.stdout) == (5, ALL), done.stderr
    assert "before the sampler started" not in done.stderr
    assert ("figures in" in done.stderr) or not begun, done.stderr
    assert reason_of(number) in done.stderr.splitlines()[-1], done.stderr


def test_a_disk_from_the_start_on(folder: Path) -> None:
    """Not even the folder of the run can be made: it lies elsewhere, which is said."""
    with failing_disk(folder, errno.EDQUOT, -1, everything=False) as why:
        mounted(why)
        done = doctor(folder, "run", "--no-check", "--", sys.executable, "-c", PRINTS)
    assert (done.returncode, done.stdout) == (5, ALL), done.stderr
    assert reason_of(errno.EDQUOT) in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE])
def test_what_the_command_imports_later_comes_from_its_own_disk(folder: Path, number: int) -> None:
    """Our folders on its path lie on the disk that has gone, its own do not."""
    program = folder.parent / "program.py"
    program.write_text(
        f"{PRINTS.rpartition('sys.exit')[0]}import xml.dom.minidom, wave\nprint(wave.__name__)\nsys.exit(6)\n"
    )
    with failing_disk(folder, number, BEGUN, everything=True) as why:
        mounted(why)
        done = doctor(folder, "run", "--no-check", "--", sys.executable, str(program))
    assert (done.returncode, done.stdout) == (6, f"{ALL}wave\n"), done.stderr


def test_what_refuses_to_be_written_is_told(folder: Path) -> None:
    with failing_disk(folder, errno.EDQUOT, 100_000, everything=False) as why:
        mounted(why)
        run = RunDir(folder / "run")
        run.path.mkdir()
        assert refusal(run) is None
        assert not list(run.path.iterdir())
        assert refusal(run) == errno.EDQUOT  # the second try is one too much


def test_every_error_number_has_words(tmp_path: Path) -> None:
    for number, name in errno.errorcode.items():
        missing = Unrecorded(name, 9, 3, str(tmp_path / "a run"), "run.json")
        told = answer(Unknown("abrupt", unrecorded=missing))
        assert told is not None
        for language in ("en", "zh"):
            assert name in told.words(language).headline, (number, language)
        assert all("{" not in each for each in told.commands)
        assert all(f"'{tmp_path / 'a run'}'" in each for each in told.commands if str(tmp_path) in each)


def test_what_lies_aside_is_of_the_same_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(aside, "_KEPT", {})
    run = RunDir(tmp_path / "run")
    run.path.mkdir()
    aside.keep(run, {"argv": ["a", "--token", "hf_" + "a" * 34], "started_ns": 5, "exit": 7})
    monkeypatch.setattr(aside, "_KEPT", {})  # another process
    assert aside.noted(run)["exit"] == 7
    assert "hf_a" not in "".join(each.read_text() for each in (tmp_path / "state").rglob("*.json"))
    run.write_run(started_ns=6)
    assert "exit" not in aside.noted(run)  # another run of the same name
    run.write_run(started_ns=5)
    assert aside.noted(run)["exit"] == 7
    run.write_run(exit=0)
    assert aside.noted(run)["exit"] == 0  # what the folder says counts


def test_the_word_that_decides_the_exit_code_finds_room_on_a_full_disk(small: Path) -> None:
    run = RunDir(small / "run")
    run.path.mkdir()
    (run.path / ROOM).write_bytes(bytes(16384))
    events = Events(run)
    events.write("start")
    with (small / "ballast").open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    while events.write("step"):
        pass
    assert events.write("stop", id="NUM001")
    assert [each["kind"] for each in run.read_events()][-1] == "stop"


@pytest.mark.parametrize("attributes", [True, False])
@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE])
@pytest.mark.parametrize("version", ["3.6", "3.9", "3.12", "3.13"])
def test_a_python_that_starts_once_the_disk_has_failed_is_none_the_worse(
    folder: Path, number: int, attributes: bool, version: str
) -> None:
    """With import lines of its environment, which run before any hook, and what it imports itself."""
    python = interpreter(version)
    site = venv(folder.parent / "env", python=python)
    (site / "own.pth").write_text("import own_of_the_environment\n")
    (site / "own_of_the_environment.py").write_text("print('own line')\n")
    with failing_disk(folder, number, BEGUN, everything=True, attributes=attributes) as why:
        mounted(why)
        hook = folder / "patient" / "hook"
        (hook.parent / "lib").mkdir(parents=True)
        lay_hook(Path(inject.__file__).with_name("sitecustomize.py"), hook)
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(hook)}
        words = [folder.parent / "env/bin/python", "-c", "import json, sys; print('sitecustomize' in sys.modules)"]

        def ran() -> list[str]:
            done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)
            assert (done.returncode, done.stderr) == (0, "")
            return done.stdout.split("\n")[:2]

        assert ran() == ["own line", "True"]
        with suppress(OSError):
            (folder / "fill").write_bytes(b"x" * 2 * BEGUN)
        assert ran() == ["own line", "False"]

"""A pass ends by itself or at its deadline, and leaves nothing running."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from doctor.monitors.rehearse import standing
from doctor.rehearse import passes
from doctor.rehearse.passes import run_pass
from doctor.run.folder import RunDir

pytestmark = pytest.mark.process

#: starts a process in a session of its own and one that outlives its parent, then waits
_FAMILY = """
import os, subprocess, sys, time
marker = sys.argv[1]
subprocess.Popen(["sleep", "97531"])
if os.fork() == 0:
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "97531"])
    os._exit(0)
open(marker, "w").close()
time.sleep(float(sys.argv[2]))
"""


def alive_with(word: str) -> list[int]:
    """Processes with a word in their command line."""
    every = psutil.process_iter(["cmdline", "status"])
    alive = [each for each in every if each.info["status"] != psutil.STATUS_ZOMBIE]
    return [each.pid for each in alive if word in (each.info["cmdline"] or ())]


def folder(tmp_path: Path) -> RunDir:
    run = RunDir(tmp_path / "run")
    run.path.mkdir()
    return run


@pytest.mark.parametrize(("seconds", "limit", "late"), [("0.2", 30.0, False), ("60", 2.0, True)])
def test_nothing_is_left_running(tmp_path: Path, seconds: str, limit: float, *, late: bool) -> None:
    run = folder(tmp_path)
    marker = tmp_path / "marker"
    ended = run_pass([sys.executable, "-c", _FAMILY, str(marker), seconds], run, dict(os.environ), limit_s=limit)
    assert marker.exists()
    assert ended.late is late
    assert alive_with("97531") == []
    assert run.read_run()["exit"] == ended.code


@pytest.mark.parametrize(
    ("program", "code"), [("import sys; sys.exit(3)", 3), ("import os; os.kill(os.getpid(), 9)", 137)]
)
def test_exit_codes_are_a_shells(tmp_path: Path, program: str, code: int) -> None:
    assert run_pass([sys.executable, "-c", program], folder(tmp_path), dict(os.environ), limit_s=30).code == code


def test_a_command_that_cannot_be_started(tmp_path: Path) -> None:
    assert run_pass(["no-such-program"], folder(tmp_path), dict(os.environ), limit_s=5).code == 127


def test_at_the_deadline_a_process_says_where_it_stands(tmp_path: Path) -> None:
    run = folder(tmp_path)
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom doctor.monitors.rehearse import standing\n"
        f"standing.listen(Path({str(run.path)!r}))\n"
        "def waits_for_a_server():\n    time.sleep(60)\nwaits_for_a_server()\n"
    )
    script = tmp_path / "script.py"
    script.write_text(program)
    variables = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    began = time.monotonic()
    ended = run_pass([sys.executable, str(script)], run, variables, limit_s=3.0)
    assert ended.late
    assert time.monotonic() - began < 20
    (text,) = standing.stacks(run.path).values()
    assert "waits_for_a_server" in text


def test_a_pass_that_stands_still_is_ended_before_its_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "_IDLE_S", 2.0)
    monkeypatch.setattr(passes, "_LOOK_EVERY_S", 0.2)
    waits = [sys.executable, "-c", "import time; time.sleep(60)"]
    ended = run_pass(waits, folder(tmp_path), dict(os.environ), limit_s=50)
    assert ended.late
    assert ended.seconds < 30


@pytest.mark.parametrize("works", ["pass", "print(1, flush=True)\n    time.sleep(0.3)"])
def test_a_pass_that_works_or_tells_is_not_idle(works: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "_IDLE_S", 2.0)
    monkeypatch.setattr(passes, "_LOOK_EVERY_S", 0.2)
    program = f"import time\nend = time.monotonic() + 5\nwhile time.monotonic() < end:\n    {works}"
    ended = run_pass([sys.executable, "-c", program], folder(tmp_path), dict(os.environ), limit_s=50)
    assert (ended.late, ended.code) == (False, 0)


def test_what_is_put_into_modules_of_libraries_is_carried(tmp_path: Path) -> None:
    """It is imported by name, when the module of the library is there."""
    from doctor.monitors.rehearse.attach import _PLACES
    from doctor.readers.patient.carry import carry
    from doctor.rehearse.session import _CARRIED

    folder = carry(_CARRIED, tmp_path / "lib") / "doctor" / "monitors" / "rehearse"
    missing = {
        owner for owner, _ in _PLACES.values() if not folder.joinpath(*owner.split(".")).with_suffix(".py").exists()
    }
    assert missing == set()

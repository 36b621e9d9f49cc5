"""The second pass goes on from where the imports of the first one ended, where a copy of it shares nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from doctor.rehearse.again import keeping
from doctor.rehearse.session import RehearsalWishes, Session, rehearse
from tests.rehearse.test_passes import alive_with

pytestmark = [pytest.mark.process, pytest.mark.skipif(sys.platform != "linux", reason="a copy is Linux's alone")]

#: what a trainer's library has for the hooks, and a training that tells of itself what they would tell
_LIBRARY = "DEFAULT_CALLBACKS = []\nclass Trainer:\n    def train(self): pass\n"
_TRAINS = """
from doctor.monitors.rehearse import journal
from doctor.monitors.rehearse.settings import settings
resumes = settings().resume
print("trains", "again" if resumes else "first", os.getpid(), os.environ["DOCTOR_RUN_DIR"], flush=True)
journal.write("training", trainer="Trainer", world=1, steps=2, number=1)
journal.reached("resume" if resumes else "save")
journal.write("trained", step=2, saved=["checkpoint-2"])
"""
#: the first thing a script does, and what it does before its trainer's library is imported
_BEGINS = "import os, sys\nprint('starts', flush=True)\n{before}\nimport transformers.trainer\n"


def rehearsed(folder: Path, monkeypatch: pytest.MonkeyPatch, before: str = "", after: str = "") -> Session:
    """A script rehearsed, and what came of it."""
    library = folder / "library" / "transformers"
    library.mkdir(parents=True)
    (library / "__init__.py").touch()
    (library / "trainer.py").write_text(_LIBRARY)
    script = folder / "script.py"
    script.write_text(_BEGINS.format(before=before) + _TRAINS + after)
    monkeypatch.setenv("PYTHONPATH", str(library.parent))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    monkeypatch.chdir(folder)
    return rehearse([sys.executable, str(script)], RehearsalWishes(deadline_s=60), {})


def consoles(session: Session) -> tuple[str, str]:
    """What both passes printed."""
    assert session.second is not None
    return session.run.console.read_text(), session.second.console.read_text()


def test_a_copy_goes_on_behind_the_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = rehearsed(tmp_path, monkeypatch)
    first, second = consoles(session)
    assert [each.code for each in session.ended] == [0, 0]
    assert first.count("starts") == 1
    assert "trains first" in first
    assert "starts" not in second
    assert "trains again" in second
    assert second.split()[-1] == str(session.run.path / "resume")
    assert session.rehearsed.of("process", resumed=True)[0]["copy"] is True
    assert [each["name"] for each in session.rehearsed.of("phase", resumed=True)] == ["resume", "resume"]
    assert session.rehearsed.saved


@pytest.mark.parametrize(
    "before",
    [
        "import threading, time\nthreading.Thread(target=time.sleep, args=(3,), daemon=True).start()",
        "import subprocess\nchild = subprocess.Popen(['sleep', '0.5'])",
        "data = open(__file__)",
        "import socket\nlistening = socket.create_server(('127.0.0.1', 0))",
    ],
    ids=["a thread", "a child", "an open file", "a connection"],
)
def test_what_would_be_shared_makes_it_an_ordinary_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    session = rehearsed(tmp_path, monkeypatch, before)
    _, second = consoles(session)
    assert "starts" in second
    assert "trains again" in second
    assert [each.code for each in session.ended] == [0, 0]


def test_a_copy_that_fails_accuses_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fails = "if resumes and journal.entries(settings().root)[0].get('copy'):\n    raise SystemExit(3)\n"
    session = rehearsed(tmp_path, monkeypatch, after=fails)
    _, second = consoles(session)
    assert [each.code for each in session.ended] == [0, 0]
    assert "starts" in second
    assert len(session.rehearsed.of("process", resumed=True)) == 1


def test_a_resume_that_fails_is_told_by_an_ordinary_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = rehearsed(tmp_path, monkeypatch, after="if resumes:\n    raise ValueError('no such key')\n")
    _, second = consoles(session)
    assert session.ended[1].code == 1
    assert session.failed is session.second
    assert "starts" in second
    assert "no such key" in second


def test_a_first_pass_that_fails_leaves_no_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = rehearsed(tmp_path, monkeypatch, after="raise SystemExit(2)\n")
    assert [each.code for each in session.ended] == [2]
    assert alive_with(str(tmp_path / "script.py")) == []


def test_a_doctor_that_is_killed_leaves_no_copy(tmp_path: Path) -> None:
    """The copy sees the end of the pipe; the first pass of one that was killed is its launcher's."""
    program = (
        "import os, time\nfrom pathlib import Path\nfrom doctor.monitors.rehearse import again\n"
        f"folder = Path({str(tmp_path)!r}) / again.FOLDER\n"
        "if os.fork() == 0:\n    os.setsid()\n    again._waited(folder)\n    os._exit(5)\n"
        "time.sleep(30)\n"
    )
    with keeping(tmp_path, wanted=True) as kept:
        variables = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        process = subprocess.Popen([sys.executable, "-c", program], env=variables, cwd=tmp_path)
        until = time.monotonic() + 30
        while kept.found() is None and time.monotonic() < until:
            time.sleep(0.05)
        copy = kept.found()
        assert copy is not None
        kept.end()  # as the system does with the pipe of a process that has gone
        until = time.monotonic() + 30
        while _runs(copy.pid) and time.monotonic() < until:
            time.sleep(0.05)
        gone = not _runs(copy.pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert gone


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

"""Runs whose folder lies on a disk that stops answering, as a network's does: nobody waits for it long."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from doctor.run import patience
from doctor.run.folder import Events, RunDir
from doctor.run.patience import MOST_WAITING, PATIENCE_S, touch
from tests.failing_disk import failing_disk
from tests.monitors.test_failing_disk import BEGUN, doctor, folder, mounted

__all__ = ["folder"]  # the fixture

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
#: seconds for which the disk does not answer
SILENT_S = 15

TRAINS = """
import json, os, sys, time
from pathlib import Path
from doctor.monitors.guard.guard import Guard
guard = Guard(rank=0, world_size=1)
guard.start()
longest, start = 0, time.monotonic()
for step in range(1, 401):
    began = time.monotonic()
    guard.stepped(step)
    guard.observe(step, {name: 0.5 for name in ("loss", "kl", "entropy", "reward", "grad_norm")})
    longest = max(longest, time.monotonic() - began)
    time.sleep(0.01)
try:
    raise ValueError("the end")
except ValueError as error:
    guard.exception(error)
guard.close()
print(json.dumps({"longest": longest, "took": time.monotonic() - start}), flush=True)
"""


def test_steps_go_on_while_the_disk_of_the_run_hangs(folder: Path) -> None:
    """One of them waits a little, all the others not at all.

    The process itself is gone only when the disk answers: what FUSE has handed to its server the kernel waits for
    (`request_wait_answer` of https://github.com/torvalds/linux/blob/master/fs/fuse/dev.c), unlike the client of NFS.
    """
    with failing_disk(folder, -SILENT_S, 20_000, everything=True) as why:
        mounted(why)
        (folder / "run").mkdir()
        environ = {**os.environ, "PYTHONPATH": str(ROOT), "DOCTOR_RUN_DIR": str(folder / "run")}
        done = subprocess.run(
            [sys.executable, "-c", TRAINS], capture_output=True, text=True, env=environ, timeout=100, check=False,
            cwd=folder.parent,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["longest"] < PATIENCE_S + 1
    assert told["took"] < SILENT_S - 5
    assert done.stderr.count("has not answered") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("ends", ["sys.exit(6)", "raise KeyError('x')"])
def test_a_command_imports_and_ends_while_the_disk_of_its_run_hangs(folder: Path, ends: str) -> None:
    program = folder.parent / "program.py"
    program.write_text(f"""
import importlib, os, sys, time
from pathlib import Path
began = time.monotonic()
os.chdir("/")  # what is installed for development has relative entries of the path
if os.fork() == 0:
    with open(os.environ["DOCTOR_RUN_DIR"] + "/fill", "wb") as file:  # in the midst of it the disk begins to hang
        file.write(b"x" * {BEGUN})
    os._exit(0)
time.sleep(0.5)
importlib.invalidate_caches()
for name in ("no_such_module", "nor_this_one"):
    try:
        importlib.import_module(name)
    except ImportError:
        pass
import wave, xml.dom.minidom
print("imported", time.monotonic() - began < 5, flush=True)
class Left:  # is dropped when all else has been done
    def __del__(self, print=print, now=time.monotonic, began=began):
        print("left", now() - began < 10, flush=True)
left = Left()
{ends}
""")
    with failing_disk(folder, -SILENT_S, BEGUN, everything=True) as why:
        mounted(why)
        began = time.monotonic()
        done = doctor(folder, "run", "--no-check", "--", sys.executable, str(program))
        took = time.monotonic() - began
    assert "imported True" in done.stdout, done.stderr
    assert done.stdout.count("left True") == 1, done.stdout
    assert done.returncode == {"sys.exit(6)": 6}.get(ends, 1), done.stderr
    assert took < SILENT_S + 20
    assert done.stderr.count("This is a bug") == 0


def test_what_waits_is_written_later_and_what_is_too_much_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pipe that nobody reads stands for the disk: whoever opens it waits."""
    monkeypatch.setattr(patience, "PATIENCE_S", 0.2)
    monkeypatch.setattr(patience._Here, "disk", None)
    events = Events(RunDir(tmp_path))
    assert events.write("start")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert touch(pipe.read_text, "late") == "late"
    began = time.monotonic()
    assert not any(events.write("step", step=step) for step in range(MOST_WAITING + 70))
    assert time.monotonic() - began < 2
    assert "has not answered" in capsys.readouterr().err
    pipe.write_text("now")
    deadline = time.monotonic() + 20
    while len(found := RunDir(tmp_path).read_events()) <= MOST_WAITING:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert events.write("end")
    found = RunDir(tmp_path).read_events()
    assert len([each for each in found if each["kind"] == "step"]) == MOST_WAITING
    assert [each["data"]["lines"] for each in found if each["data"].get("what") == "lines dropped"] == [70]


def test_what_a_call_raises_reaches_who_asked() -> None:
    with pytest.raises(ZeroDivisionError):
        touch(lambda: 1 // 0, 0)


def test_a_child_has_a_thread_of_its_own() -> None:
    assert touch(lambda: 5, 0) == 5
    child = os.fork()
    if child == 0:
        os._exit(touch(lambda: 7, 1))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7

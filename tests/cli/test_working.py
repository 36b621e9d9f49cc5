"""The line that says that long work goes on: on a terminal, and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

_PROGRAM = """
import os, time
from doctor.cli.working import working
with working("Reading logs"):
    child = os.fork()
    if not child:
        time.sleep(3.3)
        os._exit(0)
    os.waitpid(child, 0)
print("done")
"""


@pytest.mark.process
def test_long_work_is_said_on_a_terminal_and_wiped_away() -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], stdout=subprocess.PIPE, stderr=theirs, text=True, timeout=60, check=False
    )
    os.close(theirs)
    said = os.read(ours, 10_000).decode()
    os.close(ours)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "\rReading logs … 2 s" in said
    assert said.endswith("\r\x1b[K")
    assert said.count("Reading logs … 2 s") == 1, "a child of it says nothing"


@pytest.mark.process
def test_nothing_is_said_elsewhere() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")

"""`doctor fix hang` on real trees of processes: written down, then ended from the top."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.mend.processes import ending, stacks, table
from tests.e2e.environments import run_doctor
from tests.fixes.trees import Started, alive, until

pytestmark = pytest.mark.process

#: a launcher with two ranks; `mode` says who listens to SIGTERM and who hands it on
LAUNCHER = """
import signal, subprocess, sys, time

mode, folder = sys.argv[1], sys.argv[2]
rank = '''
import signal, sys, threading, time
def wait_for_a_peer():
    if sys.argv[1] == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open(sys.argv[2], "w").close()
    while True:
        time.sleep(60)
wait_for_a_peer()
'''
ranks = []

def hand_on(*_):
    open(f"{folder}/asked", "w").close()
    for each in ranks:
        each.terminate()
    for each in ranks:
        each.wait()
    sys.exit(143)

if mode == "hands on":
    signal.signal(signal.SIGTERM, hand_on)  # before there is a rank: the test begins when both are there
for k in range(2):
    ranks.append(subprocess.Popen([sys.executable, "-c", rank, mode, f"{folder}/ready{k}"]))
while True:
    time.sleep(60)
"""


@pytest.fixture
def started() -> Iterator[Started]:
    every = Started()
    yield every
    every.end()


def tree(tmp_path: Path, started: Started, mode: str, **env: str) -> list[int]:
    """Ids of a launcher and its two ranks."""
    argv = [sys.executable, "-c", LAUNCHER, mode, str(tmp_path)]
    launcher = started.child(argv, env={**os.environ, **env})
    until(lambda: all((tmp_path / f"ready{k}").exists() for k in range(2)))
    ids = [each.pid for each in table.below(launcher.pid, table.everybody())]
    assert len(ids) == 3
    for each in ids[1:]:
        started.other(each)
    return ids


def test_where_everybody_stands_is_written_and_nobody_ends(tmp_path: Path, started: Started) -> None:
    ids = tree(tmp_path, started, "hears")
    done = run_doctor("fix", "hang", "--pid", str(ids[0]), "-o", "my stacks.txt", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Nothing is ended yet" in done.stdout
    text = (tmp_path / "my stacks.txt").read_text()
    assert all(f"=== process {each} " in text for each in ids)
    assert "State:" in text
    assert text.count("thread ") >= 3
    assert all(map(alive, ids))
    again = run_doctor("fix", "hang", "--pid", str(ids[0]), "-o", "my stacks.txt", "--apply", "--yes", cwd=tmp_path)
    assert again.returncode == 2  # it is not overwritten, and without stacks nothing is ended
    assert all(map(alive, ids))


def test_python_frames_where_py_spy_may_look(tmp_path: Path, started: Started) -> None:
    if stacks.program() is None:
        pytest.skip("py-spy is not installed")
    ids = tree(tmp_path, started, "hears")
    process = table.read(ids[1])
    assert process is not None
    seen = stacks.dump(process)
    if seen.blind is not None and "ermission" in seen.blind:
        pytest.skip(seen.blind)
    assert seen.blind is None
    assert "wait_for_a_peer" in seen.text
    assert alive(ids[1])


def test_no_python_frames_is_said(tmp_path: Path, started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "program", lambda: None)
    process = table.read(tree(tmp_path, started, "hears")[1])
    assert process is not None
    seen = stacks.dump(process)
    assert seen.blind is not None
    assert "not installed" in seen.text
    failing = tmp_path / "py-spy"
    failing.write_text("#!/bin/sh\necho 'Permission Denied: Try running again with elevated permissions' >&2\nexit 1\n")
    failing.chmod(0o755)
    monkeypatch.setattr(stacks, "program", lambda: str(failing))
    assert "Permission Denied" in (stacks.dump(process).blind or "")


def test_the_innermost_python_frame_of_the_main_thread() -> None:
    text = (
        "Process 7: python\nPython v3.11.7\n\n"
        'Thread 9 (idle): "pin memory"\n    wait (threading.py:331)\n'
        'Thread 7 (active): "MainThread"\n    pollNonblocking (libnccl.so.2)\n'
        "    all_reduce (torch/distributed/distributed_c10d.py:2501)\n    step (train.py:9)\n"
    )
    assert stacks._innermost(text) == "all_reduce (distributed_c10d.py:2501)"
    assert stacks._innermost("") == ""


@pytest.mark.parametrize(
    ("mode", "by_hand"),
    [("hands on", "3 when asked, 0 killed"), ("hears", "3 when asked, 0 killed"), ("deaf", "1 when asked, 2 killed")],
)
def test_ended_from_the_top(tmp_path: Path, started: Started, mode: str, by_hand: str) -> None:
    ids = tree(tmp_path, started, mode)
    # who ends others has all the time that a busy machine takes; who hears is asked when its top is given up
    grace = {"deaf": "1", "hands on": "30", "hears": "5"}[mode]
    done = run_doctor("fix", "hang", "--pid", str(ids[0]), "--apply", "--yes", "--grace", grace, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert by_hand in done.stdout
    assert ("SIGTERM to all" in done.stdout) is (mode != "hands on")
    assert (tmp_path / "asked").exists() is (mode == "hands on")
    assert not any(map(alive, ids))
    assert list(tmp_path.glob("doctor-hang-*.txt"))


def test_a_stopped_one_ends_too(tmp_path: Path, started: Started) -> None:
    ids = tree(tmp_path, started, "hears")
    os.kill(ids[1], signal.SIGSTOP)
    processes = [each for pid in ids if (each := table.read(pid)) is not None]
    done = ending.end(processes, grace_s=5)
    assert sorted(done.asked) == sorted(ids)
    assert done.left == ()


def test_consent_is_asked_for(tmp_path: Path, started: Started) -> None:
    ids = tree(tmp_path, started, "hears")
    done = run_doctor("fix", "hang", "--pid", str(ids[0]), "--apply", cwd=tmp_path)
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert all(map(alive, ids))


def test_the_run_folder_keeps_it_and_the_guards_are_named(tmp_path: Path, started: Started) -> None:
    run = tmp_path / "doctor-runs" / "one"
    (run / "stacks").mkdir(parents=True)
    ids = tree(tmp_path, started, "hears", DOCTOR_RUN_DIR=str(run))
    (run / "stacks" / f"rank0-host-{ids[1]}.txt").write_text("of the guard")
    done = run_doctor("fix", "hang", "--pid", str(ids[0]), cwd=tmp_path)
    assert f"rank0-host-{ids[1]}.txt" in done.stdout
    assert list((run / "stacks").glob(f"hang-*-{ids[0]}-*.txt"))


def test_what_is_refused(tmp_path: Path) -> None:
    for pid, message in (
        ("1", "init process"),
        (str(os.getpid()), "a parent of this command"),
        ("4194304", "no process"),
    ):
        done = run_doctor("fix", "hang", "--pid", pid, "--apply", "--yes", cwd=tmp_path)
        assert done.returncode == 2, done.stdout
        assert message in done.stderr or "belongs to another user" in done.stderr
    assert run_doctor("fix", "hang", cwd=tmp_path).returncode == 2


def test_chinese(tmp_path: Path, started: Started) -> None:
    ids = tree(tmp_path, started, "hears")
    assert "个进程的栈" in run_doctor("fix", "hang", "--pid", str(ids[0]), "--lang", "zh", cwd=tmp_path).stdout

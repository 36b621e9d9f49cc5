"""A server whose run folder lies on a disk that is full or fails: it starts, lives, and its output goes on."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from doctor.run.folder import RunDir
from doctor.serve.watch import Watch
from tests.commands import run_doctor
from tests.failing_disk import failing_disk
from tests.monitors.test_console import ALL, small
from tests.serve.test_command_line import environment, site

__all__ = ["site", "small"]  # fixtures

pytestmark = pytest.mark.process


def serve(site: Path, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    only = environment(site, PLAY="prints", XDG_STATE_HOME=str(site.parent / "state"), **variables)
    return run_doctor("serve", "--python", sys.executable, "--model", "m", cwd=folder, only=only)


def lives(done: subprocess.CompletedProcess[str]) -> None:
    """All that the server printed arrived, and its exit code."""
    assert done.returncode == 5, done.stderr
    assert done.stdout.partition("\n")[2] == ALL
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("left_kb", [3000, 60, 0])
def test_a_full_disk_costs_the_record_and_not_the_server(site: Path, small: Path, left_kb: int) -> None:
    free = os.statvfs(small)
    (small / "ballast").write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - left_kb * 1024)))
    done = serve(site, small)
    lives(done)
    assert "is not in the server" not in done.stderr
    if left_kb == 3000:
        assert done.stderr.count("the console is not kept completely: No space left on device") == 1, done.stderr
        assert "UNK004" in done.stderr
    else:  # what the server is started with has no room there
        assert done.stderr.count("no run folder here (No space left on device)") == 1, done.stderr
        assert not list((small / "doctor-runs").glob("2*"))


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("number", [errno.EDQUOT, errno.EIO, errno.ESTALE])
def test_a_failing_disk_costs_the_record_and_not_the_server(
    site: Path, tmp_path: Path, number: int, *, everything: bool
) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    with failing_disk(folder, number, 1_000_000, everything=everything) as why:
        if why:
            pytest.skip(why)
        done = serve(site, folder)
        lives(done)
        assert f"the console is not kept completely: {os.strerror(number)}" in done.stderr
        assert "is not in the server" not in done.stderr
        assert everything or "UNK004" in done.stderr


def test_a_server_that_could_not_tell_that_it_listens_is_not_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is attached, and its word that it is up found no room; the address may be a socket that nobody else asks."""
    folder = tmp_path / "disk"
    folder.mkdir()
    with failing_disk(folder, errno.EDQUOT, 10, everything=False) as why:
        if why:
            pytest.skip(why)
        run = RunDir(folder / "run")
        (run.path / "patient").mkdir(parents=True)
        (run.path / "patient" / "attached").touch()
        said: list[str] = []
        told = threading.Event()
        killed: list[int] = []
        monkeypatch.setattr(os, "kill", lambda pid, _: killed.append(pid))  # of the watch, and of the disk at its end
        watch = Watch(run, 0.1, ("127.0.0.1", 1), dict, lambda text: (said.append(text), told.set()))
        watch.start(os.getpid())
        assert told.wait(10)
        watch.stop()
    assert "is left running" in said[0]
    assert os.strerror(errno.EDQUOT) in said[0]
    assert os.getpid() not in killed

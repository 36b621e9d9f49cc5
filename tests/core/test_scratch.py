"""Temporary folders: gone with their owner, and with the next doctor where the owner was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from doctor.base import scratch
from doctor.base.scratch import Folder

pytestmark = pytest.mark.process

HELD = "import os, sys; from doctor.base.scratch import Folder; f = Folder('logs'); "
HELD += "open(os.path.join(f.name, 'a'), 'w').close(); print(f.name, flush=True); sys.stdin.read()"


@pytest.fixture(autouse=True)
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(
        scratch, "_TIME_S", 5.0
    )  # a busy machine leaves in 10 ms for the next doctor what it has no time for
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path / f"doctor-{os.geteuid()}"


def another(*, kill: bool) -> tuple[Path, subprocess.Popen[str]]:
    """A folder of another doctor, which lives or was killed."""
    process = subprocess.Popen([sys.executable, "-c", HELD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    path = Path(process.stdout.readline().strip())
    if kill:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    return path, process


def ended(process: subprocess.Popen[str]) -> None:
    process.communicate("")


def grow_old(path: Path) -> None:
    long_ago = time.time() - 3600
    os.utime(path, (long_ago, long_ago))


def test_a_folder_is_private_and_goes_with_its_owner(base: Path) -> None:
    with Folder("logs") as name:
        Path(name, "a").write_text("x")
        assert Path(name).parent == base
        assert {each.stat().st_mode & 0o777 for each in (base, Path(name))} == {0o700}
    assert not base.exists()


def test_what_a_killed_doctor_left_is_removed(base: Path) -> None:
    left, _ = another(kill=True)
    (left / "inner").mkdir()
    (left / "inner" / "b").write_text("x")
    grow_old(left)
    with Folder():
        assert not left.exists()
    assert not base.exists()


def test_what_a_living_doctor_holds_stays() -> None:
    held, process = another(kill=False)
    grow_old(held)
    with Folder():
        assert (held / "a").exists()
    ended(process)
    assert not held.exists()


def test_what_is_new_stays_for_a_minute() -> None:
    left, _ = another(kill=True)
    with Folder():
        assert left.exists()


def test_a_child_that_branched_off_holds_it_too() -> None:
    held = Folder()
    grow_old(Path(held.name))
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(write)
        os.read(read, 1)
        held.cleanup()  # does nothing: the folder is its parent's
        os._exit(0)
    assert held._lock is not None
    os.close(held._lock)  # as if the parent had been killed
    held._finalizer.detach()
    with Folder():
        assert Path(held.name).exists()
    os.close(write)
    os.waitpid(child, 0)
    assert Path(held.name).exists()
    with Folder():
        assert not Path(held.name).exists()


def test_links_are_not_followed(base: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep" / "mine").write_text("x")
    left, _ = another(kill=True)
    (left / "link").symlink_to(outside)
    (left / "file").symlink_to(outside / "deep" / "mine")
    grow_old(left)
    (base / "logs-link").symlink_to(outside)
    with Folder():
        assert not left.exists()
    assert (outside / "deep" / "mine").read_text() == "x"


@pytest.mark.parametrize("kind", ["link", "open", "file"])
def test_a_folder_that_others_may_write_to_is_not_used(base: Path, tmp_path: Path, kind: str) -> None:
    if kind == "link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        base.symlink_to(tmp_path / "elsewhere")
    elif kind == "file":
        base.write_text("")
    else:
        base.mkdir()
        base.chmod(0o777)
    with Folder("logs") as name:
        assert Path(name).parent == tmp_path
        assert Path(name).name.startswith("doctor-logs-")
    assert not Path(name).exists()


def test_where_there_are_no_locks_nothing_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    left, _ = another(kill=True)
    grow_old(left)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with Folder() as name:
        assert left.exists()
    assert not Path(name).exists()


def test_much_is_removed_bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    left, _ = another(kill=True)
    for number in range(20):
        (left / str(number)).write_text("x")
    grow_old(left)
    monkeypatch.setattr(scratch, "_TIME_S", 0.0)
    with Folder():
        pass
    assert left.exists()
    monkeypatch.setattr(scratch, "_TIME_S", 5.0)
    grow_old(left)
    with Folder():
        assert not left.exists()

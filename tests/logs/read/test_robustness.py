"""What a log may be besides a healthy file: the doctor says so, ends, and tells what it could read."""

from __future__ import annotations

import fcntl
import functools
import gzip
import os
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from doctor.catalogue.index import CATALOGUE, catalogue_roots, load
from doctor.logs.gathered import LogNotReadable
from doctor.logs.postmortem import Postmortem, examine, prepare
from doctor.logs.read import parallel, streams
from doctor.logs.read.inflate import Limits
from doctor.logs.read.streams import StreamError, open_stream

LOG = (
    "Traceback (most recent call last):\n"
    '  File "/srv/train.py", line 3, in <module>\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB\n"
)
FILLER = "step 12 of the training goes on as it did before\n"


@pytest.fixture(scope="module")
def prepared():
    """A catalogue of few problems: what is tested is the reading."""
    return prepare([each for each in load(catalogue_roots()) if each.area in ("memory", "unknown")])


def _reasons(result: Postmortem) -> list[str]:
    return [each.reason for each in result.diagnosis.outcome.skipped]


def _ids(result: Postmortem) -> list[str]:
    return [each.problem.id for each in result.diagnosis.outcome.findings]


def test_the_catalogue_is_there() -> None:
    assert CATALOGUE in catalogue_roots()


def test_a_torn_archive_is_read_as_far_as_it_goes_and_that_is_said(tmp_path, prepared) -> None:
    path = tmp_path / "run.log.gz"
    packed = gzip.compress((LOG + FILLER * 20_000 + os.urandom(50_000).hex()).encode())
    path.write_bytes(packed[: len(packed) // 2])
    result = examine([str(path)], prepared=prepared)
    assert any("ends in the middle" in each and str(path) in each for each in _reasons(result))
    assert result.case.failures


def test_a_bomb_is_cut_off_and_that_is_said(tmp_path, prepared, monkeypatch) -> None:
    monkeypatch.setattr(streams, "Limits", functools.partial(Limits, ratio=100, counts_from=1 << 20))
    path = tmp_path / "bomb.log.gz"
    path.write_bytes(gzip.compress(LOG.encode() + b"\0" * 30_000_000))
    result = examine([str(path)], prepared=prepared)
    assert any("more than 100 times its size" in each for each in _reasons(result))
    assert result.case.failures


def test_one_log_that_vanishes_or_may_not_be_read_does_not_spoil_the_others(tmp_path, prepared, monkeypatch) -> None:
    for name in ("rank0.log", "rank1.log"):
        (tmp_path / name).write_text(LOG)

    def refuse(path, **options):
        if str(path).endswith("rank1.log"):
            raise StreamError(f"`{path}` cannot be read: Permission denied")
        return open_stream(path, **options)

    monkeypatch.setattr(parallel, "open_stream", refuse)
    result = examine([str(tmp_path)], prepared=prepared)
    assert any("Permission denied" in each for each in _reasons(result))
    assert result.case.failures
    monkeypatch.setattr(parallel, "open_stream", lambda path, **_: refuse(f"{path}/rank1.log"))
    with pytest.raises(LogNotReadable, match="Permission denied"):
        examine([str(tmp_path)], prepared=prepared)


def test_links_that_lead_in_a_circle_end(tmp_path, prepared) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "self").symlink_to("self")
    (tmp_path / "a" / "run.log").write_text(LOG)
    result = examine([str(tmp_path)], prepared=prepared)
    assert len(result.case.sources) == 1


def test_a_log_that_is_cut_while_it_is_read_ends(tmp_path) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(FILLER.encode() * 20_000)
    with open_stream(path) as stream:
        portions = iter(stream)
        first = next(portions)
        os.truncate(path, 100)
        assert first + b"".join(portions) == FILLER.encode() * 20_000 or len(first) >= 65536
        assert stream.cut_off == ""


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero", "/dev/tty"])
def test_devices_are_refused_in_words(path) -> None:
    with pytest.raises(StreamError, match="device"):
        open_stream(path)


@pytest.mark.process
def test_ctrl_c_that_comes_together_with_the_last_lines_is_not_lost() -> None:
    child = _postmortem("-", stdin=subprocess.PIPE)
    try:
        os.write(child.stdin.fileno(), FILLER.encode())
        _until_it_waits(child)
        child.send_signal(signal.SIGSTOP)
        os.write(child.stdin.fileno(), FILLER.encode())
        child.send_signal(signal.SIGINT)  # both are there when it wakes: its read returns with lines, not with EINTR
        child.send_signal(signal.SIGCONT)
        assert child.wait(timeout=60) == 130
    finally:
        child.kill()
        child.communicate()


@pytest.mark.process
def test_nothing_lies_in_the_temporary_folder_while_an_ordinary_log_is_read(tmp_path) -> None:
    child = _postmortem("-", stdin=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)})
    try:
        os.write(child.stdin.fileno(), FILLER.encode())
        _until_it_waits(child)
    finally:
        child.kill()  # with -9: nobody could clean up
        child.communicate()
    assert not list(tmp_path.iterdir())


@pytest.mark.process
def test_a_signal_that_nohup_ignores_stays_ignored() -> None:
    words = ["nohup", sys.executable, "-m", "doctor", "postmortem", "-"]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        os.write(child.stdin.fileno(), FILLER.encode())
        _until_it_waits(child)
        child.send_signal(signal.SIGHUP)
        out, err = child.communicate(FILLER, timeout=60)
    finally:
        child.kill()
        child.wait()
    assert child.returncode in {0, 1}, err
    assert out


def _until_it_waits(child: subprocess.Popen[str]) -> None:
    """Until a process has taken all of its standard input and sleeps for more."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        left = struct.unpack("i", fcntl.ioctl(child.stdin, termios.FIONREAD, b"\0" * 4))[0]
        state = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0]
        if not left and state == "S":
            return
        time.sleep(0.02)
    raise AssertionError("it never waited for its standard input")


def _postmortem(*paths: str, **options) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "doctor", "postmortem", *paths], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **options,  # noqa: PLW1509 - no threads here
    )  # fmt: skip


@pytest.mark.process
@pytest.mark.parametrize("through", ["a named pipe", "standard input"])
def test_ctrl_c_ends_an_endless_log_without_a_traceback(tmp_path, through) -> None:
    if through == "a named pipe":
        path = tmp_path / "pipe"
        os.mkfifo(path)
        child = _postmortem(str(path))
        writer = os.open(path, os.O_WRONLY)
    else:
        child = _postmortem("-", stdin=subprocess.PIPE)
        writer = child.stdin.fileno()
    try:
        until = time.monotonic() + 60
        for _ in range(40):  # it reads: 10 MB do not fit into a pipe
            os.write(writer, FILLER.encode() * 5_000)
            assert time.monotonic() < until
        child.send_signal(signal.SIGINT)
        code = child.wait(timeout=60)
        out, err = child.stdout.read(), child.stderr.read()
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
        child.stderr.close()
        if child.stdin is not None:
            child.stdin.close()
        else:
            os.close(writer)
    assert code == 130, err
    assert "Traceback" not in out + err

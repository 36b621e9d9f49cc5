from __future__ import annotations

import functools
import subprocess
import sys

import pytest

from doctor.logs.match.matcher import Matcher, Probe
from doctor.logs.read import parallel
from doctor.logs.read.parallel import FileRange, in_order, joined, ranges_of, scan
from doctor.logs.read.streams import open_stream
from tests.logs.log_helpers import OWN, ROWS, told

PROBES = (Probe("lines", (b"line",), first=30, last=7),)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "run.log"
    with path.open("wb") as file:
        for number in range(30_000):
            file.write(
                f"line {number}: \x1b[36m{'x' * (number * 31 % 90)}\x1b[0m".encode()
                + (b"\r" if number % 7 == 0 else b"\n")
            )
            if number % 40 == 0:
                file.write(f"[rank{number % 8}]: {ROWS[number // 40 % len(ROWS)].sample}\r\n".encode())
        file.write(b"z" * 400_000 + b"CUDA error: device-side assert triggered\nlast line")
    return path


@pytest.fixture
def _small_ranges(monkeypatch) -> None:
    monkeypatch.setattr(parallel, "RANGE_FROM_BYTES", 1 << 18)
    monkeypatch.setattr(parallel, "RANGE_BYTES", 1 << 17)


def _everything(hits):
    probes = {
        name: (kept.count, [(seen.offset, seen.line, seen.raw) for seen in kept]) for name, kept in hits.probes.items()
    }
    return (
        told(hits),
        {n: kept.count for n, kept in hits.hits.items()},
        probes,
        hits.total_bytes,
        hits.lines,
        hits.head,
        hits.tail,
    )


@pytest.mark.usefixtures("_small_ranges")
def test_ranges_give_what_one_pass_gives(log) -> None:
    matcher = Matcher(OWN, PROBES)
    whole = matcher.scan(open_stream(log))
    parts = ranges_of(str(log), log.stat().st_size)
    assert len(parts) > 8
    assert parts[0].start == 0
    assert parts[-1].end == log.stat().st_size
    assert _everything(joined([scan(part, matcher) for part in parts])) == _everything(whole)
    data = log.read_bytes()
    for offset in range(0, len(data), 9973):
        start, lines = whole.index.before(offset)
        assert lines + data.count(b"\n", start, offset) == data.count(b"\n", 0, offset)


@pytest.mark.process
@pytest.mark.usefixtures("_small_ranges")
def test_several_processes_give_what_one_gives(log, tmp_path) -> None:
    other = tmp_path / "other.log"
    other.write_bytes(b"RuntimeError: CUDA error: invalid device ordinal\n" * 10)
    work = functools.partial(scan, matcher=Matcher(OWN, PROBES))
    parts = [*ranges_of(str(log), log.stat().st_size), FileRange(str(tmp_path / "missing.log")), FileRange(str(other))]
    several, one = list(in_order(work, parts, 2)), list(in_order(work, parts, 1))
    assert [_everything(each) for each in several] == [_everything(each) for each in one]
    assert "does not exist" in several[-2].error


_FORKED = """
import functools, os, signal, sys
from doctor.logs.read import parallel
from doctor.logs.match.matcher import Matcher
from tests.logs.log_helpers import OWN, told
parallel.RANGE_FROM_BYTES, parallel.RANGE_BYTES = 1 << 18, 1 << 17
here, matcher = os.getpid(), Matcher(OWN)
def work(part):
    if sys.argv[2] == "killed" and part.start > 1 << 20 and os.getpid() != here:
        os.kill(os.getpid(), signal.SIGKILL)
    return parallel.scan(part, matcher)
parts = parallel.ranges_of(sys.argv[1], os.path.getsize(sys.argv[1]))
hits = parallel.joined(list(parallel.in_order(work, parts, 2)))
print(told(hits), hits.lines)
"""


@pytest.mark.process
@pytest.mark.parametrize("fate", ["well", "killed"])
def test_forked_processes_and_one_that_is_killed(log, fate) -> None:
    hits = Matcher(OWN).scan(open_stream(log))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _FORKED, str(log), fate], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == f"{told(hits)} {hits.lines}", done.stderr


@pytest.mark.usefixtures("_small_ranges")
def test_what_is_not_plain_text_is_read_in_one_piece(tmp_path) -> None:
    text = ("请减小批量大小，显存不足\n" * 40_000).encode("gbk")
    path = tmp_path / "late.log"
    path.write_bytes(b"ascii\n" * 50_000 + text)
    assert not ranges_of(str(path), path.stat().st_size)
    path.write_bytes(b"ascii\n" * 500_000)
    assert len(ranges_of(str(path), path.stat().st_size)) > 5


def test_an_endless_line_is_not_searched_for_its_end_again_and_again(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(parallel, "RANGE_BYTES", 1 << 16)
    path = tmp_path / "one-line.log"
    path.write_bytes(b"x" * 2_000_000)
    assert list(parallel._cuts(str(path), 2_000_000)) == [0, 2_000_000]

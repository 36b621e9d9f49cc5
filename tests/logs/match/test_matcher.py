from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.catalogue.signature import Signature
from doctor.logs.match.matcher import FIRST_HITS, LAST_HITS, Compiled, Matcher, Probe, Scan, Seen, scan_text
from doctor.logs.read.blocks import LONGEST, Blocks
from doctor.logs.read.streams import Stream
from tests.each import for_each
from tests.logs.log_helpers import INSTALLED, OWN, ROWS, by_all_engines, slowly, told

FILLER = (
    "INFO 11-20 16:10:28 [loggers.py:123] Avg prompt throughput: 12.0 tokens/s",
    "\x1b[36m(WorkerDict pid=12, ip=10.0.0.1)\x1b[0m step:1 - actor/kl_loss:0.1",
    "the model reward error timeout CUDA memory",
    "",
    "Überraschung 训练开始",
)
PREFIXES = ("", "[rank3]: ", "\x1b[36m(WorkerDict pid=1234, ip=10.0.0.7)\x1b[0m ", "ERROR 11-20 16:10:28 [core.py:15] ")


def test_there_are_enough_signatures() -> None:
    assert len(ROWS) >= 60
    assert "ahocorasick" in INSTALLED
    assert "shapes" in INSTALLED


@for_each(
    "row, prefix",
    [
        (f"{name}: {row.pattern[:40]}", (row, prefix))
        for name, prefix in zip(["bare", "rank", "ray", "level"], PREFIXES, strict=True)
        for row in ROWS
    ],
    group=lambda case: case.partition(":")[0],
)
def test_every_sample_is_found_by_every_engine(row, prefix) -> None:
    data = f"first line\n{prefix}{row.sample}\nlast line\n".encode()
    hits = by_all_engines(data)
    assert (ROWS.index(row), len("first line\n"), 2) in told(hits)
    assert told(hits) == slowly(data)


lines = st.one_of(
    st.sampled_from(FILLER),
    st.sampled_from([row.sample for row in ROWS]),
    st.builds("{}{}".format, st.sampled_from(PREFIXES), st.sampled_from([row.sample for row in ROWS])),
    st.builds(lambda row, at: row.sample[at:], st.sampled_from(ROWS), st.integers(0, 30)),
    st.builds(
        lambda row, at: f"{row.sample[:at]}\x1b[31m{row.sample[at:]}\x1b[0m", st.sampled_from(ROWS), st.integers(0, 60)
    ),
    st.text(st.characters(exclude_characters="\x1b\x85", exclude_categories=("Cs", "Cc")), max_size=60),
)  # fmt: skip


@given(st.lists(st.tuples(lines, st.sampled_from(["\n", "\r\n", "\r", "\n\n"])), max_size=25), st.integers(1, 400))
@settings(max_examples=150, deadline=None)
def test_any_log_in_any_portions_gives_what_trying_every_pattern_gives(parts, portion) -> None:
    data = "".join(line + end for line, end in parts).encode()
    hits = by_all_engines(data, portion=portion)
    assert told(hits) == slowly(data)
    assert hits.total_bytes == len(data)
    assert hits.lines == data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))
    assert (hits.head, hits.tail) == (data, data)


@given(
    st.lists(st.one_of(st.binary(max_size=300), st.just(b"\n"), st.just(b"\r"), st.just(b"x" * 30000)), max_size=30),
    st.integers(1, 100_000),
)
@settings(max_examples=60, deadline=None)
def test_blocks_hold_the_whole_stream_cut_at_lines(parts, portion) -> None:
    data = b"".join(parts)
    blocks = Blocks()
    found = []
    for at in range(0, len(data), portion):
        found += blocks.feed(data[at : at + portion])
    found += blocks.close()
    end = 0
    for block in found:
        assert block.offset <= end
        assert data[block.offset : block.offset + len(block.data)] == block.data
        assert block.lines_before == data.count(b"\n", 0, block.line_offset)
        assert block.unfinished or block.data[-1:] in (b"\n", b"\r")
        assert len(block.data) <= 2 * LONGEST
        end = block.offset + len(block.data)
    assert end == len(data)


def test_words_in_docker_json_are_found_behind_their_escapes() -> None:
    signature = Compiled("A", 0, Signature(r'cannot open "(?P<name>\w+)" <here> & now'))
    line = 'cannot open "weights" <here> & now'
    plain = json.dumps({"log": line + "\n", "stream": "stderr", "time": "2025-11-20T16:10:28.1Z"})
    html = plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    hits = by_all_engines(f"{plain}\n{html}\n{line}\n".encode(), (signature,))
    assert [(hit.line, hit.groups["name"], hit.text) for hit in hits] == [(n, "weights", line) for n in (1, 2, 3)]


def test_the_first_and_the_last_hits_are_kept_and_all_are_counted() -> None:
    data = b"".join(b"%d: ConnectionResetError: [Errno 104] Connection reset by peer\n" % n for n in range(1000))
    hits = by_all_engines(data)
    (kept,) = hits.hits.values()
    assert kept.count == 1000
    assert [hit.line for hit in kept] == [*range(1, FIRST_HITS + 1), *range(1001 - LAST_HITS, 1001)]


def test_a_line_without_end_counts_once_and_is_searched_in_linear_time() -> None:
    data = (
        b"start\n"
        + b"x" * 300_000
        + b" CUDA error: device-side assert triggered " * 20_000
        + b"\nCUDA error: nothing\n"
    )
    searched = 0
    matcher = Matcher(OWN, engine="ahocorasick")
    find = matcher.engine.find

    class Counting:
        name = "counting"

        def find(self, block):
            nonlocal searched
            searched += len(block)
            return find(block)

    matcher.engine = Counting()
    hits = scan_text(matcher, (data[at : at + 4096] for at in range(0, len(data), 4096)))
    assert [(hit.offset, hit.line) for hit in hits] == [(6, 2)]
    assert "device-side assert" in next(iter(hits)).text
    assert searched < 1.2 * len(data)
    assert told(by_all_engines(data)) == told(hits)


def test_a_match_across_two_pieces_of_a_long_line_is_found() -> None:
    message = b"CUDA error: device-side assert triggered"
    for start in (LONGEST - 20, LONGEST - 5, LONGEST - 8192 - 10, 3 * LONGEST):
        data = b"a" * start + message + b"b" * 100_000 + b"\n"
        assert told(by_all_engines(data)) == [(2, 0, 1)], start


class Lines:
    def __init__(self) -> None:
        self.seen: list[Seen] = []

    def take(self, seen: Seen) -> None:
        self.seen.append(seen)

    def result(self) -> list[Seen]:
        return self.seen


@pytest.mark.parametrize("engine", INSTALLED)
def test_probes_see_their_lines_and_what_stands_around_them(engine) -> None:
    probe = Probe("loss", (b"{'loss'", b"'epoch'"), collector=Lines, before_bytes=40, behind_bytes=50)
    row = b"{'loss': 1.0, 'epoch': 0.1}"
    data = b"  1%|x| 1/9\r" + row + b"\n  2%|x| 2/9\r" + b"y" * 70_000 + b"\n" + row
    portions = (data[at : at + 17] for at in range(0, len(data), 17))
    hits = scan_text(Matcher((), (probe,), engine=engine), portions)
    first, second = hits.collected["loss"][0]
    assert (first.offset, first.line, first.raw, first.before) == (12, 1, row, b"  1%|x| 1/9\r")
    assert first.behind == data[12 + len(row) :][:50]
    assert (second.line, second.raw, second.behind) == (3, row, b"")


def test_a_probe_without_collector_keeps_the_first_and_the_last_lines() -> None:
    probe = Probe("tracebacks", (b"Traceback (most recent call last)",), first=3, last=2)
    data = b"".join(b"rank %d Traceback (most recent call last):\n  File x\n" % n for n in range(10))
    kept = scan_text(Matcher((), (probe,)), [data]).probes["tracebacks"]
    assert (kept.count, [seen.line for seen in kept]) == (10, [1, 3, 5, 17, 19])


class Blocky:
    def __init__(self) -> None:
        self.blocks: list[tuple[int, frozenset[str]]] = []

    def take(self, block, probes) -> None:
        self.blocks.append((block.offset, probes))

    def result(self):
        return self.blocks


def test_a_watcher_gets_every_block_and_the_probes_it_holds() -> None:
    data = (b"x" * 99 + b"\n") * 1000 + b"Traceback\n" + (b"y" * 99 + b"\n") * 1000
    matcher = Matcher((), (Probe("t", (b"Traceback",)),))
    hits = matcher.scan(Stream("log", (data[at : at + 65536] for at in range(0, len(data), 65536))), Blocky())
    (blocks,) = hits.watched
    assert [bool(probes) for _, probes in blocks] == [False, True, False, False]
    assert [offset for offset, _ in blocks] == list(hits.index.offsets)
    assert [head[:1] for _, head in hits.index.heads] == [b"x", b"x", b"y", b"y"]


def test_the_index_gives_the_line_of_any_offset() -> None:
    pick = random.Random(7)  # noqa: S311
    data = b"".join(b"l" * pick.randrange(200) + pick.choice([b"\n", b"\r", b"\r\n"]) for _ in range(5000))
    index = scan_text(Matcher(()), [data]).index
    for offset in pick.choices(range(len(data)), k=200):
        start, lines = index.before(offset)
        assert lines + data.count(b"\n", start, offset) == data.count(b"\n", 0, offset)


def test_a_growing_log_is_taken_as_it_comes() -> None:
    scan = Scan(Matcher(OWN))
    scan.feed(b"torch.OutOfMemoryError: CUDA out of mem")
    assert not list(scan.hits)
    scan.feed(b"ory. Tried to allocate 2.00 GiB.\n")
    assert [hit.groups for hit in scan.hits] == [{"size": "2.00 GiB"}]


@pytest.mark.parametrize("engine", INSTALLED)
def test_a_matcher_goes_to_another_process(engine) -> None:
    matcher = pickle.loads(pickle.dumps(Matcher(OWN, engine=engine)))  # noqa: S301 - our own
    assert matcher.engine.name == engine
    assert len(list(scan_text(matcher, [b"RuntimeError: CUDA error: invalid device ordinal\n"]))) == 1


_MEMORY = """
import sys
from doctor.logs.match.matcher import Matcher, Probe
from doctor.logs.read.spool import Spool
from doctor.logs.read.streams import open_stream
from tests.logs.log_helpers import OWN
from tests.peaks import own_kib
matcher = Matcher(OWN, (Probe("loss", (b"'loss':",)),), engine=sys.argv[1])
before = own_kib()
hits = matcher.scan(open_stream("-", spool=Spool()))
growth = own_kib() - before
print(hits.total_bytes, sum(kept.count for kept in hits.hits.values()), growth)
"""


def _piped(megabytes: int, engine: str) -> tuple[int, int, int]:
    """(bytes, hits, growth in KiB) of a scan of generated text through a pipe."""
    child = subprocess.Popen(
        [sys.executable, "-c", _MEMORY, engine], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=False
    )
    pick = random.Random(3)  # noqa: S311
    parts = [
        b"".join(
            b"%d %s {'loss': %f} \x1b[36mx\x1b[0m\r%d/9 it/s\n"
            % (pick.randrange(10**9), os.urandom(100).hex().encode(), 1, 3)
            + (b"RuntimeError: CUDA error: invalid device ordinal\n" if number % 50 == 0 else b"")
            for number in range(4000)
        )
        for _ in range(4)
    ]
    size = 0
    while size < megabytes * 1_000_000:
        part = pick.choice(parts)
        child.stdin.write(part)
        size += len(part)
    out, _ = child.communicate()
    assert child.returncode == 0
    total, hits, growth = (int(each) for each in out.split())
    assert total == size
    assert hits > 10
    return total, hits, growth


@pytest.mark.process
@pytest.mark.parametrize(("engine", "megabytes", "most_kib"), [("auto", 60, 20 * 1024), ("shapes", 20, 12 * 1024)])
def test_memory_is_flat(engine, megabytes, most_kib) -> None:
    assert _piped(megabytes, engine)[2] < most_kib


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_ten_gigabytes_through_a_pipe_take_less_than_300_mb() -> None:
    assert _piped(10_000, "auto")[2] < 200 * 1024

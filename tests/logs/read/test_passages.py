from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.logs.match.matcher import Matcher, Probe, scan_text
from doctor.logs.read.passages import (
    ANCHORS,
    BEFORE,
    BEHIND,
    HEAD,
    MOST_FIRST,
    MOST_LAST,
    TAIL,
    Kept,
    ReadLines,
    joined,
)
from doctor.logs.read.streams import Stream

MATCHER = Matcher((), tuple(Probe(name, words, first=0, last=0) for name, words in ANCHORS.items()))
FILLER = "step 17 of the training goes on as it did before, nothing to see here\n"


def _read(text: str, ranges: int = 1) -> ReadLines:
    data = text.encode()
    cuts = [0, *(data.index(b"\n", len(data) * each // ranges) + 1 for each in range(1, ranges)), len(data)]
    watched = []
    for start, end in pairwise(cuts):
        portions = (data[at : min(at + 65536, end)] for at in range(start, end, 65536))
        watched += MATCHER.scan(Stream("log", portions, offset=start), Kept()).watched
    return joined(watched)


def _traceback(ranks: int, frames: int) -> str:
    """Tracebacks of several ranks, line by line interleaved."""
    rows = ["Traceback (most recent call last):"]
    for number in range(frames):
        rows += [f'  File "/srv/train.py", line {number}, in step', f"    return forward({'x' * 60})"]
    rows.append("ValueError: the last line of the rank")
    return "".join(f"[rank{rank}]: {row}\n" for row in rows for rank in range(ranks))


@pytest.mark.parametrize("ranges", [1, 2, 3])
def test_a_failure_in_the_middle_is_kept_whole_with_what_stands_around_it(ranges) -> None:
    failure = _traceback(ranks=8, frames=200)
    assert len(failure) > 3 * 65536
    text = FILLER * 60_000 + failure + FILLER * 60_000
    reading = _read(text, ranges)
    lines = text.splitlines()
    assert not reading.whole
    assert all(lines[number - 1] == each for number, each in reading.lines)
    assert [number for number, _ in reading.lines] == sorted({number for number, _ in reading.lines})
    kept = [each for _, each in reading.lines]
    assert [each for each in kept if each.startswith("[rank")] == failure.splitlines()
    first = next(number for number, each in reading.lines if each.startswith("[rank"))
    assert any(number < first and number > first - BEFORE // len(FILLER) for number, _ in reading.lines)
    size = sum(len(each) + 1 for each in kept)
    assert size < len(failure) + BEFORE + 3 * BEHIND + (HEAD + TAIL + 2) * 2 * 65536


@given(
    st.lists(st.sampled_from([FILLER * 40, FILLER * 700, _traceback(2, 3), _traceback(1, 80), "x" * 150_000 + "\n", "\n"]),
             max_size=14),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_lines_keep_their_numbers_and_small_logs_are_kept_whole(parts) -> None:
    text = "".join(parts)
    reading = _read(text)
    lines = text.splitlines()
    for number, each in reading.lines:
        assert lines[number - 1] == each or (" ... " in each and each[:100] == lines[number - 1][:100])
    assert "ValueError: the last line of the rank" not in {line.partition(": ")[2] for line in lines} or any(
        "the last line of the rank" in each for _, each in reading.lines
    )
    if len(text) <= HEAD * 65536 and "xxx\n" not in text:
        assert reading.whole
        assert [each for _, each in reading.lines] == lines


def test_what_is_kept_is_the_same_packed_or_not() -> None:
    text = b"".join(b"line %d\n" % number for number in range(200_000)) + b"Traceback (most recent call last):\n"
    packed, plain = (MATCHER.scan(Stream("log", [text]), Kept(pack=pack)).watched for pack in (True, False))
    assert joined(packed) == joined(plain)
    assert len(packed[0].tail[0].kept) < len(plain[0].tail[0].kept)


def test_an_anchor_is_seen_by_the_scan() -> None:
    hits = scan_text(MATCHER, [FILLER.encode() * 10, _traceback(1, 2).encode()])
    assert hits.probes["anchor"].count == 1


@pytest.mark.parametrize("word", [word.decode() for words in ANCHORS.values() for word in words])
def test_every_anchor_keeps_what_stands_around_it(word) -> None:
    reading = _read(f"{FILLER * 30_000}{word}\n{FILLER * 30_000}")
    assert not reading.whole
    assert (30_001, word) in reading.lines


def test_of_a_log_full_of_failures_the_first_and_the_last_are_kept() -> None:
    failure = 'Traceback (most recent call last):\n  File "/srv/job.py", line 3, in run\nValueError: bad {}\n'
    text = FILLER * 6_000 + "".join(failure.format(number) for number in range(60_000)) + FILLER * 60_000
    told = [line for _, line in _read(text).lines if line.startswith("ValueError: bad ")]
    numbers = [int(line.rpartition(" ")[2]) for line in told]
    assert numbers[:MOST_FIRST] == list(range(MOST_FIRST))
    assert numbers[-MOST_LAST:] == list(range(60_000 - MOST_LAST, 60_000))
    assert len(numbers) < 2 * (MOST_FIRST + MOST_LAST)
    assert [line for _, line in _read(text).lines][-1] == FILLER.rstrip()

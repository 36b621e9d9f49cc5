"""Work on several logs, and on ranges of a large one, on several cores; the answer is that of one pass."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from doctor.base.record import record
from doctor.logs.match.matcher import ENDS_BYTES, Kept, Matcher, RawHits, Watcher
from doctor.logs.read.encodings import is_plain
from doctor.logs.read.json_records import Unfolded
from doctor.logs.read.streams import StreamError, open_stream

MOST_WORKERS = 32
RANGE_FROM_BYTES = 256 << 20  # a smaller file is read by one process
RANGE_BYTES = 64 << 20
WORTH_BYTES = 8 << 20  # all files together; below, starting processes costs more than it brings
_SAMPLES = 32

Item = TypeVar("Item")
Result = TypeVar("Result")


@record
class FileRange:
    """A range of a file that starts and ends with a line; all of it when `end` is None."""

    path: str
    start: int = 0
    end: int | None = None


def in_order(work: Callable[[Item], Result], items: Sequence[Item], workers: int) -> Iterator[Result]:
    """Results of some work in the order of the items; when a process is killed, the rest is done here.

    Args:
        work: what is done with each item; it can be pickled, and so can its results.
        items: one by one handed to whoever is free.
        workers: processes; below two everything is done here.

    """
    workers = min(workers, len(items), MOST_WORKERS)
    left = deque(items)
    if workers > 1:
        for result in _on_several(work, items, workers):
            left.popleft()
            yield result
    yield from map(work, left)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def size_of(path: str) -> int:
    """Bytes of a file, 0 where it cannot be asked."""
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


def ranges_of(path: str, size: int) -> list[FileRange]:
    """The ranges in which a large file is read by several; none where one reads it whole."""
    if size < RANGE_FROM_BYTES or not _is_plain_text(path, size):
        return []
    return [FileRange(path, start, end) for start, end in pairwise(_cuts(path, size))]


def _is_plain_text(path: str, size: int) -> bool:
    """Whether the bytes of a file are its text everywhere, as far as samples tell."""
    try:
        with open_stream(path, explicit=False) as stream:
            if stream.compression or stream.path is None:
                return False
        with Path(path).open("rb") as file:
            for number in range(_SAMPLES):
                file.seek(size // _SAMPLES * number)
                if not is_plain(file.read(1 << 14), start=number == 0):
                    return False
    except (OSError, StreamError):
        return False
    return True


def _cuts(path: str, size: int) -> Iterator[int]:
    """Offsets at which lines start, some 64 MiB apart; a line is searched for its end once, however long it is."""
    yield 0
    cut = 0
    with Path(path).open("rb") as file:
        while cut < size:
            cut = _next_line(file, max(cut + RANGE_BYTES, 1) - 1, size)
            yield cut


def _next_line(file: Any, offset: int, size: int) -> int:
    """Where the first line after a line feed at or behind an offset starts; the end of the file when there is none."""
    file.seek(offset)
    while data := file.read(1 << 16):
        at = data.find(b"\n")
        if at >= 0:
            return int(min(offset + at + 1, size))
        offset += len(data)
    return size


def scan(part: FileRange, matcher: Matcher, watcher: Watcher | None = None) -> RawHits:
    """Scan a file or a range of it; `error` says why it could not be read."""
    try:
        with open_stream(part.path, start=part.start, end=part.end) as stream:
            return matcher.scan(Unfolded(stream), watcher)
    except StreamError as error:
        return RawHits(part.path, error=str(error), cut_off=str(error))


_shared: list[Callable[[Any], Any]] = []


def _start(work: Callable[[Any], Any]) -> None:
    _shared[:] = [work]


def _work(item: Any) -> Any:
    return _shared[0](item)


def _on_several(work: Callable[[Item], Result], items: Sequence[Item], workers: int) -> Iterator[Result]:
    """Results in order; they end where a process was killed."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    # A process that has threads must not be forked: a lock that one of them holds would stay locked for ever.
    method = "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"
    try:
        with ProcessPoolExecutor(workers, multiprocessing.get_context(method), _start, (work,)) as pool:
            futures = deque(pool.submit(_work, item) for item in items)
            try:
                while futures:
                    yield futures[0].result()
                    futures.popleft()  # and with it the result: nobody needs it any more
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
    except BrokenProcessPool:
        return


def joined(parts: Sequence[RawHits]) -> RawHits:
    """The ranges of one file as one pass over it would have given it."""
    whole = parts[0]
    for part in parts[1:]:
        _join(whole, part)
    return whole


def _join(whole: RawHits, part: RawHits) -> None:
    lines = whole.lines
    for number, hits in part.hits.items():
        _join_kept(whole.hits.setdefault(number, Kept.up_to(hits.most, hits.last.maxlen)), hits, lines)
    for name, seen in part.probes.items():
        _join_kept(whole.probes.setdefault(name, Kept.up_to(seen.most, seen.last.maxlen)), seen, lines)
    for name, results in part.collected.items():
        whole.collected.setdefault(name, []).extend(results)
    whole.watched += part.watched
    whole.index.join(part.index, lines)
    if len(whole.head) < ENDS_BYTES:
        whole.head = (whole.head + part.head)[:ENDS_BYTES]
    whole.tail = (whole.tail + part.tail)[-ENDS_BYTES:]
    whole.total_bytes += part.total_bytes
    whole.lines += part.lines
    whole.cut_off = "; ".join(dict.fromkeys(each for each in (whole.cut_off, part.cut_off) if each))


def _join_kept(mine: Kept, later: Kept, lines: int) -> None:
    """Append what a later range kept; line numbers of a range start at 1."""
    count = mine.count + later.count
    for each in later:
        mine.add(each._replace(line=each.line + lines))
    mine.count = count

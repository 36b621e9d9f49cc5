"""Scans several logs, and ranges of a large one, on several cores; the answer is that of one pass."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from doctor.logs.encodings import is_plain
from doctor.logs.matcher import ENDS_BYTES, Kept, Matcher, RawHits, Watcher
from doctor.logs.streams import STDIN, StreamError, open_stream

MOST_WORKERS = 8
RANGE_FROM_BYTES = 256 << 20  # a smaller file is read by one process
RANGE_BYTES = 64 << 20
WORTH_BYTES = 32 << 20  # all files together; below, starting processes costs more than it brings
_SAMPLES = 32

MakeWatcher = Callable[[], Watcher]


@dataclass(frozen=True)
class Part:
    """A range of a file that starts and ends with a line; all of it when `end` is None."""

    path: str
    file: int
    start: int = 0
    end: int | None = None


def scan_all(
    paths: Sequence[str],
    matcher: Matcher,
    *,
    watcher: MakeWatcher | None = None,
    ranges: bool = True,
    workers: int | None = None,
) -> list[RawHits]:
    """Scan files, each in one pass or in ranges.

    Args:
        paths: files or "-", in the order of the results.
        matcher: its `strip`, its probes' collectors and `watcher` must be functions of modules.
        watcher: makes a watcher for each range.
        ranges: whether large files are cut into ranges; not when what collectors and watchers keep needs their order.
        workers: processes, None for as many as there are cores.

    Returns:
        What was found in each; `error` says why one could not be read.

    """
    parts = [part for number, path in enumerate(paths) for part in _parts(path, number, ranges=ranges)]
    workers = min(workers or cores(), len(parts), MOST_WORKERS)
    worth = sum(_size(path) for path in paths) >= WORTH_BYTES
    if workers < 2 or not worth or STDIN in paths:
        done: Iterable[RawHits] = (_scan(part, matcher, watcher) for part in parts)
    else:
        done = _on_several(parts, matcher, watcher, workers)
    numbered = zip(parts, done, strict=True)
    return [joined([hits for _, hits in each]) for _, each in groupby(numbered, key=lambda pair: pair[0].file)]


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


def _parts(path: str, file: int, *, ranges: bool) -> Iterator[Part]:
    size = _size(path)
    if not ranges or size < RANGE_FROM_BYTES or not _is_plain_text(path, size):
        yield Part(path, file)
        return
    for start, end in pairwise(_cuts(path, size)):
        yield Part(path, file, start, end)


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


def _scan(part: Part, matcher: Matcher, watcher: MakeWatcher | None) -> RawHits:
    try:
        with open_stream(part.path, start=part.start, end=part.end) as stream:
            return matcher.scan(stream, watcher() if watcher else None)
    except StreamError as error:
        return RawHits(part.path, error=str(error), cut_off=str(error))


_shared: list[tuple[Matcher, MakeWatcher | None]] = []


def _start(matcher: Matcher, watcher: MakeWatcher | None) -> None:
    _shared[:] = [(matcher, watcher)]


def _scan_shared(part: Part) -> RawHits:
    matcher, watcher = _shared[0]
    return _scan(part, matcher, watcher)


def _on_several(
    parts: Sequence[Part], matcher: Matcher, watcher: MakeWatcher | None, workers: int
) -> Iterator[RawHits]:
    """Results in the order of the parts; when a process is killed, the rest is done here."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    # A process that has threads must not be forked: a lock that one of them holds would stay locked for ever.
    method = "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"
    context = multiprocessing.get_context(method)
    done = 0
    try:
        with ProcessPoolExecutor(workers, context, _start, (matcher, watcher)) as pool:
            futures = [pool.submit(_scan_shared, part) for part in parts]
            try:
                for future in futures:
                    yield future.result()
                    done += 1
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
    except BrokenProcessPool:
        for part in parts[done:]:
            yield _scan(part, matcher, watcher)


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

"""Divides logs among workers, and collects what they say.

The content of links is read once, a large file in ranges. Who does the work is left open: processes of this machine,
or the nodes of a cluster; what comes of it is the same.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any

from doctor.base.patterns import later
from doctor.base.record import mutable
from doctor.logs.metrics.live import Judge
from doctor.logs.read import parallel
from doctor.logs.read.layouts import LogSource
from doctor.logs.read.log import YEAR, Item, Joined, LogReading, Reader
from doctor.logs.read.notebooks import is_notebook
from doctor.logs.read.parallel import FileRange, in_order, joined, ranges_of
from doctor.logs.read.streams import STDIN, StreamError, open_stream

#: from so many logs on, less of each is kept to be read line by line
BRIEF_FROM = 200
#: the year is looked for in so many logs, and so far into each
_YEAR_LOGS, _YEAR_BYTES, _YEAR_WITHIN = 64, 1 << 19, 80
_YEAR = later(YEAR.encode())

#: does some work; gives the results in the order of the items
Work = Callable[[Reader, Sequence[Item]], Iterable[Any]]


@mutable
class _Plan:
    """Who reads what: positions of the logs that share a content; large ones with their ranges."""

    small: list[list[int]] = field(default_factory=list)
    large: list[tuple[list[int], list[FileRange]]] = field(default_factory=list)
    total_bytes: int = 0


def read_all(found: Sequence[LogSource], reader: Reader, judge: Judge, work: Work | None = None) -> list[LogReading]:
    """What every log says, in their order; their metrics go to the judge as they come.

    Args:
        found: the logs.
        reader: reads one of them.
        judge: takes the metrics.
        work: who reads the files; None: the cores of this machine.

    """
    readings: dict[int, LogReading] = {}

    def take(places: Sequence[int], said: Sequence[LogReading]) -> None:
        for place, reading in zip(places, said, strict=True):
            judge.take(place, reading.track)
            reading.track = None
            readings[place] = reading

    plan = _plan(found)
    workers = parallel.cores() if plan.total_bytes >= parallel.WORTH_BYTES else 1
    work = work or partial(here, workers=workers)
    names = [tuple(found[place] for place in places) for places in plan.small]
    results = iter(work(reader, [*names, *(part for _, parts in plan.large for part in parts)]))
    for places in plan.small:
        take(places, next(results))
    whole = [Joined(joined([next(results) for _ in parts]), tuple(found[place] for place in places))
             for places, parts in plan.large]  # fmt: skip
    next(results, None)  # the end, at which a worker may have something to say
    for (places, _), said in zip(plan.large, here(reader, whole, workers), strict=True):
        take(places, said)
    for place, source in enumerate(found):
        if source.path == STDIN:
            take([place], [reader.stdin(source)])
    return [readings[place] for place in range(len(found))]


def here(reader: Reader, items: Sequence[Item], workers: int) -> Iterable[Any]:
    """Do the work on this machine."""
    if workers > 1 and len(items) > 1:
        reader.scanner.matcher()  # made once, before the processes branch off
    return in_order(reader, items, workers)


def _plan(found: Sequence[LogSource]) -> _Plan:
    """Files by their content; what is no regular file stands for itself."""
    plan = _Plan()
    by_content: dict[object, tuple[list[int], int]] = {}
    for place, source in enumerate(found):
        if source.path == STDIN:
            continue
        key: object = place
        size = 0
        try:
            status = os.stat(source.path)  # noqa: PTH116 - of thousands of files: a Path costs more than the call
            size = status.st_size
            key = (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) and status.st_ino else place
        except OSError:
            pass  # whoever reads it says why it cannot be read
        by_content.setdefault(key, ([], size))[0].append(place)
    for places, size in by_content.values():
        plan.total_bytes += size
        path = found[places[0]].path
        parts = [] if is_notebook(path) else ranges_of(path, size)
        if parts:
            plan.large.append((places, parts))
        else:
            plan.small.append(places)
    return plan


def first_year(found: Sequence[LogSource]) -> int | None:
    """The year by which short stamps are completed: the first that any of the logs states near its beginning.

    A log that states one itself only further down is completed by its own.
    """
    files = [each.path for each in found if each.path != STDIN and Path(each.path).is_file()]
    return next((year for path in files[:_YEAR_LOGS] if (year := _year_of(path)) is not None), None)


def _year_of(path: str) -> int | None:
    seen = 0
    try:
        with open_stream(path, explicit=False) as stream:
            for data in stream:
                for match in _YEAR.finditer(data):
                    start = max(data.rfind(b"\n", 0, match.start()), data.rfind(b"\r", 0, match.start())) + 1
                    if match.start() - start < _YEAR_WITHIN:
                        return int(match[1])
                seen += len(data)
                if seen >= _YEAR_BYTES:
                    return None
    except StreamError:
        return None
    return None

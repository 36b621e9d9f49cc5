"""Files of metrics and nothing else: `trainer_state.json`, the run folder's CSV, and the CSV that the doctor writes."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO, Optional

from doctor.core.redact import redact_text
from doctor.core.series import ALIASES, Point
from doctor.logs.metrics import row_of_mapping

#: columns of the CSV that ``--metrics-csv`` writes
COLUMNS = ("step", "t_ns", "name", "value", "rank", "source")

#: a `trainer_state.json` written without line breaks is read whole, up to this size
MOST_BYTES_AT_ONCE = 64 * 2**20


class MetricFileError(Exception):
    """The file is not what its name says; the message names file and reason."""


def read_trainer_state(path: Path) -> Iterator[Point]:
    """Points of the `log_history` of a Trainer's state, entry by entry, in memory that does not grow with the file.

    The Trainer writes it with one key a line (TrainerState.save_to_json in
    https://github.com/huggingface/transformers/blob/main/src/transformers/trainer_callback.py).

    Raises:
        MetricFileError: no such state, or one without line breaks that is too large to read at once.

    """
    source = str(path)
    with path.open("rb") as file:
        if file.read(1).strip() != b"{":
            raise MetricFileError(f"{path} is not a trainer state: it does not begin with {{")
        if len(file.readline(1 << 16)) > 1:
            yield from _read_at_once(path)
            return
        inside: Optional[list[bytes]] = None
        began = 0
        for number, line in enumerate(file, 2):
            text = line.strip()
            if inside is None:
                if text == b"{" and began:
                    inside = []
                elif text.startswith(b'"log_history"'):
                    began = number
                elif began and text.startswith(b"]"):
                    return
            elif text.startswith(b"}"):
                yield from _entry(b"{" + b"".join(inside) + b"}", f"{source}:{number - len(inside)}")
                inside = None
            else:
                inside.append(text)


def _entry(text: bytes, source: str) -> Iterator[Point]:
    try:
        row = row_of_mapping(json.loads(text))
    except ValueError:
        return
    if row is not None:
        yield from (Point(name, value, row.step, source=source) for name, value in row.pairs)


def _read_at_once(path: Path) -> Iterator[Point]:
    if path.stat().st_size > MOST_BYTES_AT_ONCE:
        raise MetricFileError(f"{path} is one line of more than {MOST_BYTES_AT_ONCE >> 20} MiB")
    try:
        history = json.loads(path.read_bytes())["log_history"]
    except (ValueError, KeyError, TypeError) as error:
        raise MetricFileError(f"{path} is not a trainer state: {error}") from None
    for data in history:
        row = row_of_mapping(data) if isinstance(data, dict) else None
        if row is not None:
            yield from (Point(name, value, row.step, source=str(path)) for name, value in row.pairs)


def read_metrics_csv(path: Path, rank: Optional[int] = None) -> Iterator[Point]:
    """Points of a CSV with the columns step, t_ns, name, value and perhaps rank, source; a torn line is skipped.

    Args:
        path: the file; its lines that begin with # are skipped.
        rank: of the points whose row tells none.

    Raises:
        MetricFileError: it has no columns step, name and value.

    """
    with path.open(encoding="utf-8", errors="replace") as file:
        head = next((line.rstrip("\n").split(",") for line in file if not line.startswith("#")), [])
        if not {"step", "name", "value"} <= set(head):
            raise MetricFileError(f"{path} has no columns step, name and value")
        columns, own = len(head), str(path)
        step, name, value = head.index("step"), head.index("name"), head.index("value")
        t_ns, of_rank, source = (head.index(each) if each in head else None for each in ("t_ns", "rank", "source"))
        make, canonical = tuple.__new__, ALIASES.get
        told_step = told_time = (
            ""  # the rows of one step follow each other, so most numbers are known from the last row
        )
        step_now: Optional[int] = None
        time_now: Optional[int] = None
        for line in file:
            cells = _quoted(line) if '"' in line else line.rstrip("\n").split(",")
            if len(cells) != columns:
                continue
            try:
                number = float(cells[value])
            except ValueError:
                continue
            if cells[step] != told_step:
                told_step = cells[step]
                step_now = _whole(told_step)
            if t_ns is not None and cells[t_ns] != told_time:
                told_time = cells[t_ns]
                time_now = _whole(told_time)
            called = cells[name]
            told_rank = rank if of_rank is None or not cells[of_rank] else _whole(cells[of_rank])
            told_source = own if source is None else cells[source] or own
            yield make(Point, (canonical(called, called), number, step_now, time_now, told_rank, told_source))


def _whole(text: str) -> Optional[int]:
    return int(text) if text.isdecimal() else None


def _quoted(line: str) -> list[str]:
    return next(csv.reader([line.replace("\0", "")]), [])


class MetricsCsv:
    """Writes points as CSV, one row a point; what is not told is an empty cell."""

    def __init__(self, file: IO[str]) -> None:
        self._writer = csv.writer(file, lineterminator="\n")
        self._writer.writerow(COLUMNS)

    def write(self, points: Iterable[Point]) -> None:
        """Append points in the order given."""
        for _ in self.passed(points):
            pass

    def passed(self, points: Iterable[Point]) -> Iterator[Point]:
        """Append points on their way to somebody else; names and places are the patient's words, and redacted."""
        for point in points:
            name, value, step, t_ns, rank, source = point
            self._writer.writerow((step, t_ns, _shown(name), repr(value), rank, _shown(source)))
            yield point


@lru_cache(maxsize=4096)
def _shown(text: str) -> str:
    file, colon, line = text.rpartition(":")
    return f"{_shown(file)}:{line}" if colon and line.isdigit() else redact_text(text.replace("\n", " "))

"""Files of metrics and nothing else: `trainer_state.json`, the run folder's CSV, and the CSV that the doctor writes."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from operator import itemgetter, ne
from pathlib import Path
from typing import IO, Any, Optional

from doctor.core.columns import MetricRow
from doctor.core.redact import redact_text
from doctor.core.series import ALIASES
from doctor.logs.metrics import row_of_mapping, shared

#: columns of the CSV that ``--metrics-csv`` writes
COLUMNS = ("step", "t_ns", "name", "value", "rank", "source")

#: of a CSV that are taken apart together
_BYTES_TOGETHER = 1 << 16

#: groups of names that are kept; a run has a handful
_MOST_KINDS = 1000

#: rows of one step that may be waited for, for they are judged together
_MOST_OF_A_STEP = 2000

#: a `trainer_state.json` written without line breaks is read whole, up to this size
MOST_BYTES_AT_ONCE = 64 * 2**20


class MetricFileError(Exception):
    """The file is not what its name says; the message names file and reason."""


def read_trainer_state(path: Path) -> Iterator[MetricRow]:
    """Rows of the `log_history` of a Trainer's state, entry by entry, in memory that does not grow with the file.

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


def _entry(text: bytes, source: str) -> Iterator[MetricRow]:
    try:
        row = row_of_mapping(json.loads(text))
    except ValueError:
        return
    if row is not None:
        yield MetricRow(row.step, row.names, row.values, source=source)


def _read_at_once(path: Path) -> Iterator[MetricRow]:
    if path.stat().st_size > MOST_BYTES_AT_ONCE:
        raise MetricFileError(f"{path} is one line of more than {MOST_BYTES_AT_ONCE >> 20} MiB")
    try:
        history = json.loads(path.read_bytes())["log_history"]
    except (ValueError, KeyError, TypeError) as error:
        raise MetricFileError(f"{path} is not a trainer state: {error}") from None
    for data in history:
        row = row_of_mapping(data) if isinstance(data, dict) else None
        if row is not None:
            yield MetricRow(row.step, row.names, row.values, source=str(path))


def read_metrics_csv(path: Path, rank: Optional[int] = None) -> Iterator[MetricRow]:
    """Rows of a CSV with the columns step, t_ns, name, value and perhaps rank, source; a torn line is skipped.

    What stands in lines that follow each other, with the same step, time, rank and source, is one row.

    Args:
        path: the file; its lines that begin with # are skipped.
        rank: of the rows whose lines tell none.

    Raises:
        MetricFileError: it has no columns step, name and value.

    """
    with path.open(encoding="utf-8", errors="replace") as file:
        head = next((line.rstrip("\n").split(",") for line in file if not line.startswith("#")), [])
        if not {"step", "name", "value"} <= set(head):
            raise MetricFileError(f"{path} has no columns step, name and value")
        table = _Table(head, str(path), rank)
        held: list[list[str]] = []
        while lines := file.readlines(_BYTES_TOGETHER):
            cells = held + [_quoted(line) if '"' in line else line.rstrip("\n").split(",") for line in lines]
            cells, numbers = table.sound(cells)
            ends = table.ends(cells)
            held = cells[ends[-1] :] if ends and len(cells) - ends[-1] < _MOST_OF_A_STEP else []
            yield from table.rows(cells[: len(cells) - len(held)], numbers, ends)
        cells, numbers = table.sound(held)
        yield from table.rows(cells, numbers, [])


class _Table:
    """Takes the lines of a CSV of metrics apart, many at once.

    Args:
        head: names of its columns.
        own: what stands for a source that is not told; `rank`: likewise.

    """

    def __init__(self, head: list[str], own: str, rank: Optional[int]) -> None:
        self._columns, self._own, self._rank = len(head), own, rank
        self._name, self._value, self._step = head.index("name"), head.index("value"), head.index("step")
        self._at = {each: head.index(each) for each in ("t_ns", "rank", "source") if each in head}
        places = [self._step, *self._at.values()]
        self._common: Callable[[list[str]], Any] = itemgetter(*places)
        self._kinds: dict[tuple[str, ...], tuple[str, ...]] = {}

    def sound(self, cells: list[list[str]]) -> tuple[list[list[str]], list[float]]:
        """The lines that are whole, and their values."""
        width, value = self._columns, self._value
        if set(map(len, cells)) <= {width}:
            try:
                return cells, list(map(float, map(itemgetter(value), cells)))
            except ValueError:
                pass
        whole = [
            (each, number) for each in cells if len(each) == width and (number := _number(each[value])) is not None
        ]
        return [each for each, _ in whole], [number for _, number in whole]

    def ends(self, cells: list[list[str]]) -> list[int]:
        """Where lines differ in step, time, rank or source from those before them."""
        common = list(map(self._common, cells))
        return [number for number, differs in enumerate(map(ne, common, common[1:]), 1) if differs]

    def rows(self, cells: list[list[str]], numbers: Sequence[float], ends: list[int]) -> Iterator[MetricRow]:
        """The lines as rows, cut at these places."""
        names = list(map(itemgetter(self._name), cells))
        start = 0
        for end in [*(each for each in ends if each < len(cells)), len(cells)]:
            if start < end:
                yield from self._row(cells[start], tuple(names[start:end]), numbers[start:end])
            start = end

    def _row(self, cells: list[str], own: tuple[str, ...], values: Sequence[float]) -> Iterator[MetricRow]:
        names = self._kinds.get(own)
        if names is None:
            names = shared(tuple(ALIASES.get(each, each) for each in own))
            if len(self._kinds) < _MOST_KINDS:
                self._kinds[own] = names
        step, at = _whole(cells[self._step]), self._at
        t_ns = _whole(cells[at["t_ns"]]) if "t_ns" in at else None
        rank = _whole(cells[at["rank"]]) if "rank" in at and cells[at["rank"]] else self._rank
        source = (cells[at["source"]] if "source" in at else "") or self._own
        if len(set(names)) == len(names):
            yield MetricRow(step, names, values, t_ns, rank, source)
        else:
            for name, value in zip(names, values, strict=True):
                yield MetricRow(step, shared((name,)), (value,), t_ns, rank, source)


def _number(text: str) -> Optional[float]:
    try:
        return float(text)
    except ValueError:
        return None


def _whole(text: str) -> Optional[int]:
    return int(text) if text.isdecimal() else None


def _quoted(line: str) -> list[str]:
    return next(csv.reader([line.replace("\0", "")]), [])


class MetricsCsv:
    """Writes metrics as CSV, one row a value; what is not told is an empty cell."""

    def __init__(self, file: IO[str]) -> None:
        self._writer = csv.writer(file, lineterminator="\n")
        self._writer.writerow(COLUMNS)

    def write(self, rows: Iterable[MetricRow]) -> None:
        """Append rows in the order given."""
        for _ in self.passed(rows):
            pass

    def passed(self, rows: Iterable[MetricRow]) -> Iterator[MetricRow]:
        """Append rows on their way to somebody else; names and places are the patient's words, and redacted."""
        for row in rows:
            step, names, values, t_ns, rank, source = row
            place = _shown(source)
            self._writer.writerows(
                (step, t_ns, _shown(name), repr(value), rank, place) for name, value in zip(names, values, strict=True)
            )
            yield row


@lru_cache(maxsize=4096)
def _shown(text: str) -> str:
    file, colon, line = text.rpartition(":")
    return f"{_shown(file)}:{line}" if colon and line.isdigit() else redact_text(text.replace("\n", " "))

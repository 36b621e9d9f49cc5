"""Files of metrics and nothing else: `trainer_state.json`, the run folder's CSV, and the CSV that the doctor writes."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import repeat
from operator import ne
from pathlib import Path
from typing import Any, Optional, Protocol

from doctor.base.numerals import whole_of
from doctor.base.patterns import later
from doctor.base.redact import redact_text
from doctor.catalogue.columns import MetricRow
from doctor.catalogue.series import ALIASES
from doctor.logs.metrics.names import row_of_mapping, shared

#: columns of the CSV that ``--metrics-csv`` writes
COLUMNS = ("step", "t_ns", "name", "value", "rank", "source")

#: of a CSV that are taken apart together
_CHARACTERS_TOGETHER = 1 << 16

#: groups of names that are kept; a run has a handful
_MOST_KINDS = 1000

#: rows of one step that may be waited for, for they are judged together
_MOST_OF_A_STEP = 2000

#: of a CSV, each with the cells of all lines; the values are numbers already
_Columns = list[list[Any]]

#: a `trainer_state.json` written without line breaks is read whole, up to this size
MOST_BYTES_AT_ONCE = 64 * 2**20


_row: Any = partial(tuple.__new__, MetricRow)


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
        held: _Columns = [[] for _ in head]
        while text := file.read(_CHARACTERS_TOGETHER):
            columns = [old + new for old, new in zip(held, table.columns(text + file.readline()), strict=True)]
            count, ends = len(columns[0]), table.ends(columns)
            last = ends[-1] if ends and count - ends[-1] < _MOST_OF_A_STEP else count
            yield from table.rows([each[:last] for each in columns], ends)
            held = [each[last:] for each in columns]
        yield from table.rows(held, [])


def read_wide_csv(path: Path) -> Iterator[MetricRow]:
    """Rows of a CSV with a column a metric: what spreadsheets and exports of trackers hold.

    The step is in a column `step`, whatever its case; `_step`, `global_step` and `training_step` stand for it. Cells
    that are empty or no number are left out.

    Raises:
        MetricFileError: it has no such column, or no other.

    """
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        rows = csv.reader(line.replace("\0", "") for line in file if not line.startswith("#"))
        head = next(rows, [])
        at = step_column(head)
        if at is None or len(head) < 2:
            raise MetricFileError(f"{path} has no column of steps")
        names = [ALIASES.get(each.strip(), each.strip()) for each in head]
        for cells in rows:
            pairs = {
                name: number for place, (name, text) in enumerate(zip(names, cells, strict=False))
                if place != at and name and (number := _number(text)) is not None
            }  # fmt: skip
            step = _number(cells[at]) if len(cells) > at else None
            if pairs and step is not None and step.is_integer():
                yield MetricRow(
                    int(step), shared(tuple(pairs)), tuple(pairs.values()), source=f"{path}:{rows.line_num}"
                )


_STEP_COLUMNS = frozenset({"step", "_step", "global_step", "training_step", "train/global_step", "trainer/global_step"})


def step_column(head: Sequence[str]) -> Optional[int]:
    """The column that tells the step; None where there is none."""
    return next((place for place, name in enumerate(head) if name.strip().strip('"').lower() in _STEP_COLUMNS), None)


def read_step_and_data(path: Path) -> Iterator[MetricRow]:
    """Rows of lines ``{"step": 12, "data": {...}}``; a torn line is skipped.

    veRL's file logger writes them:
    https://github.com/verl-project/verl/blob/main/verl/utils/tracking.py (class FileLogger)
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                told = json.loads(line)
                row = row_of_mapping({**told["data"], "step": told["step"]})
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
            if row is not None:
                yield MetricRow(row.step, row.names, row.values, source=f"{path}:{number}")


class _Table:
    """Takes the lines of a CSV of metrics apart, many at once, column by column.

    Args:
        head: names of its columns.
        own: what stands for a source that is not told; `rank`: likewise.

    """

    def __init__(self, head: list[str], own: str, rank: Optional[int]) -> None:
        self._head, self._own, self._rank = head, own, rank
        self._name, self._value, self._step = head.index("name"), head.index("value"), head.index("step")
        self._common = [self._step, *(head.index(each) for each in ("t_ns", "rank", "source") if each in head)]
        self._kinds: dict[tuple[str, ...], tuple[str, ...]] = {}

    def columns(self, text: str) -> _Columns:
        """The lines that are whole; their values as numbers."""
        width = len(self._head)
        lines = text.removesuffix("\n").split("\n")
        if '"' not in text and set(map(str.count, lines, repeat(","))) == {width - 1}:
            cells = text.removesuffix("\n").replace("\n", ",").split(",")
            columns: _Columns = [cells[place::width] for place in range(width)]
            try:
                columns[self._value] = list(map(float, columns[self._value]))
            except ValueError:
                pass
            else:
                return columns
        apart = (_quoted(line) if '"' in line else line.split(",") for line in lines)
        whole = [each for each in apart if len(each) == width and _number(each[self._value]) is not None]
        columns = [[each[place] for each in whole] for place in range(width)]
        columns[self._value] = list(map(float, columns[self._value]))
        return columns

    def ends(self, columns: _Columns) -> list[int]:
        """Where lines differ in step, time, rank or source from those before them."""
        common = list(zip(*(columns[each] for each in self._common), strict=True))
        return [number for number, differs in enumerate(map(ne, common, common[1:]), 1) if differs]

    def rows(self, columns: _Columns, ends: list[int]) -> Iterable[MetricRow]:
        """The lines as rows, cut at these places."""
        count = len(columns[0])
        if not count:
            return ()
        starts = [0, *(each for each in ends if each < count)]
        width = starts[1] if len(starts) > 1 else count
        own = tuple(columns[self._name][:width])
        names = self._known(own)
        alike = starts == list(range(0, count, width)) and columns[self._name] == [*own] * (count // width)
        if alike and len(set(names)) == len(names):
            values = zip(*[iter(columns[self._value])] * width, strict=True)
            return self._rows(columns, starts, repeat(names), values)
        return self._one_by_one(columns, starts)

    def _rows(
        self, columns: _Columns, places: list[int], names: Iterable[tuple[str, ...]], values: Iterable[Sequence[float]]
    ) -> Iterable[MetricRow]:
        """Rows of these names and values, with what stands beside them in the lines at these places."""
        told = {
            each: [columns[self._head.index(each)][place] for place in places]
            for each in ("step", "t_ns", "rank", "source") if each in self._head
        }  # fmt: skip
        times = map(whole_of, told["t_ns"]) if "t_ns" in told else repeat(None)
        ranks = (
            (whole_of(each) if each else self._rank for each in told["rank"]) if "rank" in told else repeat(self._rank)
        )
        sources = (each or self._own for each in told["source"]) if "source" in told else repeat(self._own)
        return map(_row, zip(map(whole_of, told["step"]), names, values, times, ranks, sources, strict=False))

    def _one_by_one(self, columns: _Columns, starts: list[int]) -> Iterator[MetricRow]:
        own, values = columns[self._name], columns[self._value]
        for start, end in zip(starts, [*starts[1:], len(own)], strict=True):
            names = self._known(tuple(own[start:end]))
            if len(set(names)) == len(names):
                yield from self._rows(columns, [start], (names,), (values[start:end],))
            else:
                alone = range(start, end)
                single = (shared((name,)) for name in names)
                yield from self._rows(columns, [*alone], single, ((values[each],) for each in alone))

    def _known(self, own: tuple[str, ...]) -> tuple[str, ...]:
        """Canonical names."""
        names = self._kinds.get(own)
        if names is None:
            names = shared(tuple(ALIASES.get(each, each) for each in own))
            if len(self._kinds) < _MOST_KINDS:
                self._kinds[own] = names
        return names


def _number(text: str) -> Optional[float]:
    try:
        return float(text)
    except ValueError:
        return None


def _quoted(line: str) -> list[str]:
    return next(csv.reader([line.replace("\0", "")]), [])


class SupportsWrite(Protocol):
    """Where text is written to."""

    def write(self, text: str, /) -> object:
        """Append text."""


class MetricsCsv:
    """Writes metrics as CSV, one row a value; what is not told is an empty cell."""

    def __init__(self, file: SupportsWrite) -> None:
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
    return f"{_shown(file)}:{line}" if colon and line.isdigit() else _as_text(redact_text(text.replace("\n", " ")))


#: with these a spreadsheet begins a formula: https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def _as_text(text: str) -> str:
    """The cell without control characters, and such that no spreadsheet takes it for a formula."""
    text = _CONTROL.sub("\ufffd", text)
    return f"'{text}" if text.lstrip(" \u00a0").startswith(_FORMULA) else text


_CONTROL = later("[\x00-\x1f\x7f-\x9f]")

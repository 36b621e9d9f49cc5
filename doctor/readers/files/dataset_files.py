"""Reads rows of local JSON, JSONL and CSV files, and the footer of parquet files, within a budget of bytes and time."""

from __future__ import annotations

import csv
import gzip
import io
import json
import time
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, cast

from doctor.base.evidence import Place
from doctor.base.fact import BrokenFile, Unavailable
from doctor.base.record import distinct
from doctor.facts.dataset import Dataset
from doctor.readers.files import parquet_footer

LIMIT_BYTES = 64 << 20
LIMIT_S = 1.5
_EMPTY_SHOWN = 20
_ROWS_BETWEEN_CLOCKS = 256
Row = tuple[int, Mapping[str, Any]]  # line (or row) number, columns


class _Spent(Exception):  # noqa: N818 - the budget is used up; what was read counts
    """No more bytes or time for this dataset."""


class _Broken(Exception):  # noqa: N818 - becomes a BrokenFile
    """A row that cannot be read."""

    def __init__(self, file: BrokenFile) -> None:
        super().__init__(file.message)
        self.file = file


@distinct
class _Tally:
    """Running figures over the rows."""

    column: str
    rows: int = 0
    columns: dict[str, int] = field(default_factory=dict)  # column -> rows that have it
    kinds: set[str] = field(default_factory=set)
    empty: list[int] = field(default_factory=list)
    empty_count: int = 0
    lengths: list[int] = field(default_factory=list)
    longest: tuple[int, int] | None = None  # length, line

    def add(self, line: int, row: Mapping[str, Any]) -> None:
        """Count one row."""
        self.rows += 1
        for name in row:
            self.columns[name] = self.columns.get(name, 0) + 1
        if self.column not in row:
            return
        prompt = row[self.column]
        kind, length = _measure(prompt)
        if prompt is not None:
            self.kinds.add(kind)
        if length == 0:
            self.empty_count += 1
            if len(self.empty) < _EMPTY_SHOWN:
                self.empty.append(line)
        if kind == "other":
            return
        self.lengths.append(length)
        if self.longest is None or length > self.longest[0]:
            self.longest = (length, line)


def _measure(prompt: Any) -> tuple[str, int]:
    """Kind and length in characters of a prompt; length 0 when there is nothing in it."""
    if prompt is None:
        return "text", 0
    if isinstance(prompt, str):
        return "text", len(prompt) if prompt.strip() else 0
    if isinstance(prompt, list) and all(isinstance(each, dict) and "role" in each for each in prompt):
        return "conversation", sum(_content_length(each.get("content")) for each in prompt)
    return "other", -1


def _content_length(content: Any) -> int:
    if isinstance(content, str):
        return len(content) if content.strip() else 0
    if isinstance(content, list):  # parts of a multimodal message; an image counts as something
        return sum(len(str(each.get("text", "image"))) for each in content if isinstance(each, dict))
    return 0


def read(files: list[Path], column: str, *, processed: bool) -> Dataset:
    """Figures over all files of a dataset.

    Raises:
        Unavailable: no row can be seen for a reason that is nobody's mistake (an unusual layout).

    """
    if all(_kind(each) == "parquet" for each in files):
        return _read_parquet(files, column, processed=processed)
    tally = _Tally(column)
    broken: BrokenFile | None = None
    whole = True
    rows = _rows([each for each in files if _kind(each) != "parquet"])
    try:
        for line, row in rows:
            tally.add(line, row)
    except _Spent:
        whole = False
    except _Broken as exc:
        broken = exc.file
    return Dataset(
        path=str(files[0]),
        rows=tally.rows if whole and broken is None else None,
        rows_read=tally.rows,
        columns=tuple(tally.columns),
        prompt_kind=tally.kinds.pop() if len(tally.kinds) == 1 else "other" if tally.kinds else None,
        empty_prompts=tuple(tally.empty),
        empty_prompt_count=tally.empty_count,
        prompt_chars_median=_median(tally.lengths),
        prompt_chars_max=tally.longest[0] if tally.longest else None,
        longest_row=tally.longest[1] if tally.longest else None,
        broken=broken,
        missing_in={name: tally.rows - found for name, found in tally.columns.items() if found < tally.rows},
        prompt_column=column,
        processed=processed,
    )


#: a larger file is not read for its first rows alone: one array of JSON is read whole
_SMALL_BYTES = 16 << 20


def first_rows(path: Path, most: int) -> list[Mapping[str, Any]]:
    """The first rows of a small file, none where they cannot be read."""
    rows: list[Mapping[str, Any]] = []
    try:
        if _kind(path) not in {"json", "jsonl", "csv", "tsv"} or path.stat().st_size > _SMALL_BYTES:
            return []
        for _, row in zip(range(most), _rows([path])):  # noqa: B905
            rows.append(row[1])
    except (OSError, _Spent, _Broken, Unavailable):
        return rows
    return rows


def _median(lengths: list[int]) -> int | None:
    return sorted(lengths)[len(lengths) // 2] if lengths else None


def _kind(path: Path) -> str:
    return path.name.lower().removesuffix(".gz").rpartition(".")[2]


def _read_parquet(files: list[Path], column: str, *, processed: bool) -> Dataset:
    rows = 0
    columns: tuple[str, ...] = ()
    extremes: dict[str, tuple[str, str]] = {}
    for path in files:
        footer = parquet_footer.read(path)
        if isinstance(footer, BrokenFile):
            return Dataset(str(files[0]), columns=columns, broken=footer, prompt_column=column, processed=processed)
        rows += footer.rows
        columns = columns or footer.columns
        for name, (low, high) in footer.extremes.items():
            lowest, highest = extremes.get(name, (low, high))
            extremes[name] = (min(low, lowest), max(high, highest))
    return Dataset(
        str(files[0]), rows=rows, columns=columns, prompt_column=column, processed=processed, extremes=extremes
    )


# --- rows ---


def _rows(files: list[Path]) -> Iterator[Row]:
    """Rows of all files, until the budget is spent."""
    deadline = time.monotonic() + LIMIT_S
    left = LIMIT_BYTES
    count = 0
    for path in files:
        with _opened(path) as raw:
            counted = _Counted(raw, left)
            for row in _rows_of(path, counted):
                yield row
                count += 1
                if count % _ROWS_BETWEEN_CLOCKS == 0 and time.monotonic() > deadline:
                    raise _Spent
            left = counted.left


def _opened(path: Path) -> io.BufferedIOBase:
    try:
        if not path.is_file():  # what is read from a pipe is gone for the run
            raise _Broken(BrokenFile(Place(str(path)), "it is not a regular file"))
        return cast("io.BufferedIOBase", gzip.open(path, "rb") if path.name.endswith(".gz") else path.open("rb"))
    except OSError as exc:
        raise _Broken(BrokenFile(Place(str(path)), f"it cannot be read: {(exc.strerror or 'error').lower()}")) from exc


class _Counted:
    """Lines of a binary file, counted in bytes; ends with `_Spent` when the budget is used up."""

    def __init__(self, raw: io.BufferedIOBase, left: int) -> None:
        self.raw = raw
        self.left = left

    def __iter__(self) -> Iterator[bytes]:
        while line := self.raw.readline(self.left + 1):
            self.left -= len(line)
            if self.left < 0:
                raise _Spent
            yield line

    def rest(self) -> bytes:
        """Everything that is left of the file."""
        content = self.raw.read(self.left + 1)
        self.left -= len(content)
        if self.left < 0:
            raise _Spent
        return content


def _rows_of(path: Path, lines: _Counted) -> Iterator[Row]:
    try:
        if _kind(path) in {"csv", "tsv"}:
            yield from _csv_rows(path, lines)
        else:
            yield from _json_rows(path, lines)
    except (OSError, EOFError, zlib.error) as exc:
        message = str(exc) if path.name.endswith(".gz") else "reading it failed"
        raise _Broken(BrokenFile(Place(str(path)), f"it cannot be read to its end: {message}")) from exc


def _json_rows(path: Path, lines: _Counted) -> Iterator[Row]:
    """Rows of JSON lines, or of one array of objects."""
    number = 0
    for number, raw in enumerate(lines, start=1):
        text = _decoded(raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw, path, number)
        if not text.strip():
            continue
        if number == 1 and text.lstrip().startswith("["):
            yield from _array_rows(path, text + _decoded(lines.rest(), path, 2))
            return
        try:
            row = json.loads(text)
        except json.JSONDecodeError as exc:
            if number == 1 and text.strip() == "{":
                raise Unavailable(f"`{path.name}` has one JSON object over several lines, not rows") from exc
            raise _Broken(BrokenFile(Place(str(path), number, exc.colno), f"not JSON: {exc.msg}")) from exc
        except (RecursionError, ValueError) as exc:
            raise _Broken(BrokenFile(Place(str(path), number), "nested too deeply to be read")) from exc
        if not isinstance(row, dict):
            raise _Broken(BrokenFile(Place(str(path), number, 1), "this line is not a JSON object"))
        yield number, row


def _array_rows(path: Path, text: str) -> Iterator[Row]:
    try:
        rows = json.loads(text)
    except json.JSONDecodeError as exc:
        raise _Broken(BrokenFile(Place(str(path), exc.lineno, exc.colno), f"not JSON: {exc.msg}")) from exc
    except (RecursionError, ValueError) as exc:
        raise _Broken(BrokenFile(Place(str(path)), "nested too deeply to be read")) from exc
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise _Broken(BrokenFile(Place(str(path)), f"element {number} of the array is not an object"))
        yield number, row


def _csv_rows(path: Path, lines: _Counted) -> Iterator[Row]:
    def texts() -> Iterator[str]:
        for number, raw in enumerate(lines, start=1):
            yield _decoded(raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw, path, number)

    csv.field_size_limit(LIMIT_BYTES)
    reader = csv.reader(texts(), delimiter="\t" if _kind(path) == "tsv" else ",")
    header: list[str] | None = None
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as exc:
            raise _Broken(BrokenFile(Place(str(path), reader.line_num), f"not CSV: {exc}")) from exc
        if cells is None:
            return
        if header is None:
            header = cells
        elif cells:
            if len(cells) > len(header):
                message = f"{len(cells)} cells, where the header has {len(header)}"
                raise _Broken(BrokenFile(Place(str(path), line), message))
            yield line, dict(zip(header, cells, strict=False))


def _decoded(raw: bytes, path: Path, line: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as exc:
        line += raw.count(b"\n", 0, exc.start)
        raise _Broken(BrokenFile(Place(str(path), line), f"byte 0x{raw[exc.start]:02x} is not UTF-8")) from exc

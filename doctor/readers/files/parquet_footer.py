"""Rows, top-level columns and extremes of columns of text of a parquet file, from its footer alone.

The file ends with the footer, its length in four bytes (little-endian) and `PAR1`
(https://parquet.apache.org/docs/file-format/). The footer is a Thrift structure in the compact protocol
(https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md): `FileMetaData` with field 2
`schema` (a list of `SchemaElement`: 4 `name`, 5 `num_children`), field 3 `num_rows` and field 4 `row_groups` (1
`columns`, of each 3 `meta_data`: 1 `type`, 3 `path_in_schema`, 12 `statistics`: 5 `max_value`, 6 `min_value`)
(https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from doctor.base.evidence import Place
from doctor.base.fact import BrokenFile
from doctor.base.record import distinct

_MAGIC = b"PAR1"
_ENCRYPTED = b"PARE"
_FOOTER_LIMIT_BYTES = 64 << 20
_DEPTH = 16
_SCHEMA, _ROWS, _GROUPS, _NAME, _CHILDREN = 2, 3, 4, 4, 5
_CHUNKS, _META, _TYPE, _PATH, _STATISTICS, _MAX, _MIN = 1, 3, 1, 3, 12, 5, 6
_BYTE_ARRAY = 6
#: the groups of a larger footer take too long to be read
_SMALL_FOOTER_BYTES = 128 << 10
#: a writer may cut longer texts of its statistics off
_LONGEST_TEXT = 64
_BOOLEANS = {1: True, 2: False}
_BYTE, _I16, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 3, 4, 6, 7, 8, 9, 10, 11, 12


@distinct
class Footer:
    """What a parquet file says about itself; `extremes`: column of text -> its smallest and its largest text."""

    rows: int
    columns: tuple[str, ...]
    extremes: Mapping[str, tuple[str, str]] = field(default_factory=dict)


class _Malformed(Exception):  # noqa: N818 - becomes a BrokenFile
    """The bytes are no Thrift structure of this kind."""


def read(path: Path) -> Footer | BrokenFile:
    """Read the footer of a parquet file."""
    place = Place(str(path))
    try:
        if not path.is_file():
            return BrokenFile(place, "it is not a regular file")
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            if size < 12:
                return BrokenFile(place, "not a parquet file: it is too short")
            file.seek(size - 8)
            tail = file.read(8)
            length = int.from_bytes(tail[:4], "little")
            if tail[4:] == _ENCRYPTED:
                return BrokenFile(place, "an encrypted parquet file, which cannot be read without its key")
            if tail[4:] != _MAGIC or length > min(size - 8, _FOOTER_LIMIT_BYTES):
                return BrokenFile(place, "not a parquet file, or cut off: it does not end with a footer")
            file.seek(size - 8 - length)
            return _footer(file.read(length))
    except OSError as exc:
        return BrokenFile(place, f"it cannot be read: {(exc.strerror or 'input/output error').lower()}")
    except (_Malformed, IndexError, RecursionError, OverflowError, MemoryError):
        return BrokenFile(place, "a parquet file with a damaged footer")


def _footer(content: bytes) -> Footer:
    wanted = {_SCHEMA, _ROWS} | ({_GROUPS} if len(content) <= _SMALL_FOOTER_BYTES else set())
    fields = _Reader(content, wanted=wanted).struct(0)
    schema, rows = fields.get(_SCHEMA), fields.get(_ROWS)
    if not isinstance(schema, list) or not isinstance(rows, int) or rows < 0:
        raise _Malformed
    return Footer(rows, _columns(schema), _extremes(fields.get(_GROUPS)))


def _extremes(groups: Any) -> dict[str, tuple[str, str]]:
    """Of the columns of which each group of rows has both."""
    found: dict[str, list[tuple[str, str]]] = {}
    groups = groups if isinstance(groups, list) else []
    for chunk in (each for group in groups for each in group.get(_CHUNKS, ())):
        meta = chunk.get(_META, {})
        path, statistics = meta.get(_PATH), meta.get(_STATISTICS, {})
        ends = [statistics.get(_MIN), statistics.get(_MAX)]
        if meta.get(_TYPE) != _BYTE_ARRAY or not isinstance(path, list) or len(path) != 1:
            continue
        if all(isinstance(each, bytes) and len(each) < _LONGEST_TEXT for each in ends):
            low, high = (each.decode("utf-8", "replace") for each in ends)
            found.setdefault(path[0].decode("utf-8", "replace"), []).append((low, high))
    whole = {name: pairs for name, pairs in found.items() if len(pairs) == len(groups)}
    return {name: (min(low for low, _ in pairs), max(high for _, high in pairs)) for name, pairs in whole.items()}


def _columns(schema: list[Any]) -> tuple[str, ...]:
    """Names of the root's children; the schema lists the tree depth first."""
    names: list[str] = []
    at = 1
    while at < len(schema):
        name = schema[at].get(_NAME, b"")
        names.append(name.decode("utf-8", "replace") if isinstance(name, bytes) else "")
        open_children = 1
        while open_children and at < len(schema):
            children = schema[at].get(_CHILDREN, 0)
            open_children += (children if isinstance(children, int) else 0) - 1
            at += 1
    return tuple(names)


class _Reader:
    """Values of Thrift's compact protocol, one after the other; stops once the wanted fields were seen."""

    def __init__(self, content: bytes, wanted: set[int]) -> None:
        self.content = content
        self.at = 0
        self.wanted = wanted

    def byte(self) -> int:
        self.at += 1
        return self.content[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise _Malformed

    def zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def struct(self, depth: int) -> dict[int, Any]:
        """Fields of a structure by number."""
        if depth > _DEPTH:
            raise _Malformed
        fields: dict[int, Any] = {}
        number = 0
        while True:
            header = self.byte()
            kind = header & 0x0F
            if header == 0:
                return fields
            number = number + (header >> 4) if header >> 4 else self.zigzag()
            fields[number] = _BOOLEANS[kind] if kind in _BOOLEANS else self.value(kind, depth)
            if depth == 0 and self.wanted <= fields.keys():
                return fields

    def value(self, kind: int, depth: int) -> Any:
        """One value of a kind."""
        if kind == _BYTE or kind in _BOOLEANS:
            return self.byte()
        if _I16 <= kind <= _I64:
            return self.zigzag()
        if kind == _DOUBLE:
            self.at += 8
            return None
        if kind == _BINARY:
            return self.binary()
        if kind in {_LIST, _SET}:
            return self.list(depth)
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind == _MAP:
            return self.map(depth)
        raise _Malformed

    def binary(self) -> bytes:
        length = self.varint()
        self.at += length
        if self.at > len(self.content):
            raise _Malformed
        return self.content[self.at - length : self.at]

    def list(self, depth: int) -> list[Any]:
        header = self.byte()
        size = header >> 4 if header >> 4 != 15 else self.varint()
        if size > len(self.content):
            raise _Malformed
        return [self.value(header & 0x0F, depth) for _ in range(size)]

    def map(self, depth: int) -> None:
        size = self.varint()
        if size > len(self.content):
            raise _Malformed
        kinds = self.byte() if size else 0
        for _ in range(size):
            self.value(kinds >> 4, depth)
            self.value(kinds & 0x0F, depth)

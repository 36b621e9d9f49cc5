"""Many dictionaries of the same few keys as columns: of JSON what is read quickest, for no key stands in it twice."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

#: name -> (places of the rows that have it, None for all; their values)
Columns = Mapping[str, Sequence[Any]]


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The columns of rows, each of which may lack any of them; as JSON takes them if it takes the values."""
    names = dict.fromkeys(name for row in rows for name in row)
    told = {}
    for name in names:
        places = [place for place, row in enumerate(rows) if name in row]
        values = [rows[place][name] for place in places]
        told[name] = [None if len(places) == len(rows) else places, values]
    return told


def rows_of(columns: Columns, count: int, several: Collection[str] = ()) -> list[dict[str, Any]]:
    """What :func:`columns_of` took apart.

    Args:
        columns: as it gave them, or as they came back out of JSON.
        count: how many rows there were.
        several: names whose values are tuples, for which JSON has lists.

    Raises:
        IndexError: a row is named that there is not.

    """
    rows: list[dict[str, Any]] = [{} for _ in range(count)]
    for name, (places, values) in columns.items():
        chosen = rows if places is None else [rows[place] for place in places]
        for row, value in zip(chosen, map(tuple, values) if name in several else values):  # noqa: B905 - Python 3.9
            row[name] = value
    return rows

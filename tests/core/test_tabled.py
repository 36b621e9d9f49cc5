"""Rows come back out of columns, and out of JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from doctor.base.tabled import columns_of, rows_of

ROWS: list[dict[str, Any]] = [{"id": "a", "of": ["x", "y"], "rare": None}, {"id": "b"}, {"id": "c", "of": []}]


def test_rows_come_back() -> None:
    told = columns_of(ROWS)
    assert rows_of(json.loads(json.dumps(told)), 3) == ROWS
    assert rows_of(told, 3, {"of"})[0]["of"] == ("x", "y")
    assert rows_of(columns_of([]), 0) == []


def test_no_name_stands_there_twice() -> None:
    assert json.dumps(columns_of([{"name": number} for number in range(100)])).count("name") == 1


def test_a_row_that_there_is_not_is_refused() -> None:
    with pytest.raises(IndexError):
        rows_of(columns_of(ROWS), 2)

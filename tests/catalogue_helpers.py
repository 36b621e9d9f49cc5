"""Reads the catalogue for the tests that lint it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from doctor.core.finding import Message
from doctor.core.index import Entry, load

ENTRIES = load()


def messages(entry: Entry) -> Iterator[tuple[str, Message]]:
    """Every message that a problem's file declares, by name; also those in a table of cases (pattern, message)."""
    module = importlib.import_module(entry.module)
    for name, value in vars(module).items():
        if isinstance(value, Message):
            yield name, value
        elif isinstance(value, tuple):
            for at, row in enumerate(value):
                cells = row if isinstance(row, tuple) else ()
                yield from ((f"{name}[{at}]", cell) for cell in cells if isinstance(cell, Message))

"""Reads the catalogue for the tests that lint it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from doctor.core.finding import Message
from doctor.core.index import Entry, load

ENTRIES = load()


def messages(entry: Entry) -> Iterator[tuple[str, Message]]:
    """Every message that a problem's file declares, by name."""
    module = importlib.import_module(entry.module)
    for name, value in vars(module).items():
        if isinstance(value, Message):
            yield name, value

"""Python's cyclic garbage collector, switched off for a while."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """For a short job: the facts of a thousand nodes are a million objects, and no cycles, to be looked through.

    What is there afterwards is not looked through later either: to switch the collector on again would have it look
    through all of it at once.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.freeze()
            gc.enable()

"""Python's cyclic garbage collector, switched off or slowed down for a while."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """For a short job: the facts of a thousand nodes are a million objects, and no cycles, to be looked through."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


_NEW_OBJECTS = 50_000  # instead of some hundreds: a few megabytes


@contextmanager
def rare_garbage_collection() -> Iterator[None]:
    """For a long job that makes few cycles: looking through what was read so far would take a tenth of its time."""
    thresholds = gc.get_threshold()
    gc.set_threshold(_NEW_OBJECTS, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)

"""The catalogue, read once a worker: two dozen modules judge logs, and reading it with its engine is not cheap."""

from __future__ import annotations

from functools import cache

from doctor.logs.postmortem import Prepared, prepare


@cache
def prepared_once() -> Prepared:
    """What post-mortems share; nothing of one log stays in it."""
    return prepare()

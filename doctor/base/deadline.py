"""Calls that may hang (a dead mount, a name server that is gone) and must only cost their own time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Pending(Generic[T]):
    """A call under way in a thread of its own, which is left behind when it does not return."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._answered = threading.Event()
        self._value: T | None = None
        self._call = call
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        try:
            self._value = self._call()
        except Exception:  # noqa: BLE001 - "no answer" is what the caller gets, whatever the machine did
            self._value = None
        self._answered.set()

    def result(self, until: float) -> tuple[bool, T | None]:
        """(answered, value): waits until `until` (time.monotonic()). A call that raised answers None."""
        answered = self._answered.wait(max(0.0, until - time.monotonic()))
        return answered, self._value if answered else None


def within(seconds: float, call: Callable[[], T]) -> tuple[bool, T | None]:
    """Call, and wait for the answer at most `seconds`."""
    return Pending(call).result(time.monotonic() + seconds)

"""One call of a reward function with completions of one kind: what came of it, within a time of its own."""

from __future__ import annotations

import signal
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Callable, Optional

#: seconds that one try may take, and all tries of one function together
TRY_S, ALL_S = 10.0, 40.0

#: share of a try that took too long in which the processors were with others: then the function is not known to be slow
_OTHERS = 0.2

#: nanoseconds that the main thread ran and that it was ready and did not run:
#: https://docs.kernel.org/scheduler/sched-stats.html
_SCHEDULED = "/proc/self/schedstat"


class TooLongError(BaseException):
    """A try took longer than it may; no `except Exception` of the user's keeps it."""


class Try:
    """One call of a function with completions of one kind."""

    def __init__(self, kind: str, arguments: dict[str, Any], until_s: float, told: Sequence[Any] = ()) -> None:
        self.kind, self._arguments, self._until_s, self.told = kind, arguments, until_s, told
        self.values: Optional[list[Optional[float]]] = None
        self.seconds: Optional[float] = None
        self.error = self.frame = ""

    @property
    def known(self) -> list[float]:
        """What every row earned; empty where one of them earned nothing that is a number."""
        values = [each for each in self.values or () if each is not None]
        return values if len(values) == len(self.told) else []

    def run(self, function: Callable[..., Any]) -> None:
        """Call it; what it raises is noted."""
        if time.monotonic() > self._until_s:
            self.error = "not tried"
            return
        began, waited = time.monotonic(), waited_s()
        try:
            with within(TRY_S):
                self._take(function(**self._arguments))
        except TooLongError:
            self.error = late(TRY_S, waited_s() - waited)
        except Exception as error:  # noqa: BLE001 - the finding itself
            self._failed(error)
        self.seconds = time.monotonic() - began

    async def run_awaited(self, function: Callable[..., Any]) -> None:
        """The same of a function that is awaited."""
        import asyncio

        if time.monotonic() > self._until_s:
            self.error = "not tried"
            return
        began, waited = time.monotonic(), waited_s()
        try:
            self._take(await asyncio.wait_for(function(**self._arguments), TRY_S))
        except asyncio.TimeoutError:
            self.error = late(TRY_S, waited_s() - waited)
        except Exception as error:  # noqa: BLE001
            self._failed(error)
        self.seconds = time.monotonic() - began

    def _take(self, result: Any) -> None:
        if hasattr(result, "tolist"):
            result = result.tolist()
        if isinstance(result, (list, tuple)):
            self.values = [number_of(each) for each in result]
        else:
            self.error = "no list"

    def _failed(self, error: Exception) -> None:
        self.error = f"{type(error).__name__}: {str(error)[:200]}"
        frames = traceback.extract_tb(error.__traceback__)
        last = next((each for each in reversed(frames) if "-packages" not in each.filename), None)
        self.frame = f"{last.filename}:{last.lineno}" if last is not None else ""

    def as_data(self) -> dict[str, Any]:
        """For the journal."""
        return {"values": self.values and self.values[:64], "seconds": self.seconds, "error": self.error,
                "frame": self.frame}  # fmt: skip


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Interrupt what takes longer; Python's regular expressions can be interrupted too. The main thread alone.

    Raises:
        TooLongError: it took longer.

    """

    def over(*_: Any) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, over)
    left = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *left)
        signal.signal(signal.SIGALRM, before)


def waited_s() -> float:
    """Seconds for which the main thread was ready to run and others ran; 0.0 where the kernel does not tell."""
    try:
        with open(_SCHEDULED, encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def late(seconds: float, waited: float) -> str:
    """What is said of a try that was ended after some seconds, for some of which it waited for a processor."""
    return "not tried" if waited > _OTHERS * seconds else "too long"


def number_of(value: Any) -> Optional[float]:
    """A reward as a number; None for whatever is none."""
    if hasattr(value, "item"):
        value = value.item()
    return float(value) if isinstance(value, (int, float)) else None

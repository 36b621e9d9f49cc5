"""A line that says that long work goes on: on a terminal alone, after two seconds, and gone when the work is done."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

#: what is being done, by language
WORKING = {
    "en": {
        "reading": "Reading {what}", "reading_more": "Reading {what} and {more} more",
        "deep": "Importing, multiplying and communicating", "looking": "Examining this machine",
        "sizing": "Searching for settings that fit",
    },
    "zh": {
        "reading": "正在读取 {what}", "reading_more": "正在读取 {what}(另有 {more})",
        "deep": "正在导入、做乘法并通信", "looking": "正在检查本机", "sizing": "正在寻找可行的设置",
    },
}  # fmt: skip

#: seconds until it is said, and from word to word
_BEGIN_S, _EVERY_S = 2.0, 1.0
_STDERR = 2


@contextmanager
def working(text: str) -> Iterator[None]:
    """Say `text` with the seconds that it takes already, while what is inside of it runs.

    By a timer's signal, not by a thread: what is inside may fork, and no child of it has the timer.
    """
    if not os.isatty(_STDERR) or threading.current_thread() is not threading.main_thread():
        yield
        return
    from doctor.render.plain import plain

    began, shown = time.monotonic(), plain(text)

    def say(_number: int, _frame: object) -> None:
        _write(f"\r{shown} … {time.monotonic() - began:.0f} s\x1b[K")

    before = signal.signal(signal.SIGALRM, say)
    signal.setitimer(signal.ITIMER_REAL, _BEGIN_S, _EVERY_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if time.monotonic() - began >= _BEGIN_S:
            _write("\r\x1b[K")


def _write(text: str) -> None:
    with suppress(OSError):  # the terminal may be gone
        os.write(_STDERR, text.encode("utf-8", "replace"))

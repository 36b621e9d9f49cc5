"""Touches the disk of the run folder for a process that must not wait for it.

A disk that hangs, as that of a network does whose server is away, answers neither yes nor no: the kernel holds whoever
asked. So one thread of the process asks, and the caller waits for it a little, once; from then on lines wait in memory
until the disk answers again, and what is more than that is dropped and counted. Runs inside the patient: Python 3.9.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, Optional, TypeVar

T = TypeVar("T")

#: seconds that a caller waits for a disk that answered before; the next ones do not wait until it answers again
PATIENCE_S = 2.0
#: pieces of work that wait at most
MOST_WAITING = 500

_SAID = {
    "en": "doctor: the disk of the run folder has not answered for {:g} s: what the guard records waits in memory, or "
    "is lost; the run is not affected\n",
    "zh": "doctor: 运行目录所在的磁盘已 {:g} 秒没有响应:guard 的记录暂存在内存中,或会丢失;训练不受影响\n",
}


class _Work(Generic[T]):
    """A piece of work under way."""

    __slots__ = ("answered", "call", "failed", "value")

    def __init__(self, call: Callable[[], T]) -> None:
        import _thread

        self.call = call
        self.value: Optional[T] = None
        self.failed: Optional[BaseException] = None
        self.answered = _thread.allocate_lock()
        self.answered.acquire()

    def do(self) -> None:
        try:
            self.value = self.call()
        except BaseException as error:  # noqa: BLE001 - of whoever asked, who is told
            self.failed = error
        self.answered.release()


class _Disk:
    """The thread of this process that touches the disk; a forked child makes its own."""

    def __init__(self) -> None:
        import queue
        import threading

        self.pid = os.getpid()
        self.late = self._said = False
        self._waiting: Any = queue.SimpleQueue()
        threading.Thread(target=self._go_on, daemon=True, name="doctor-disk").start()

    def ask(self, call: Callable[[], T]) -> Optional[_Work[T]]:
        """Have it done; None where too much waits already."""
        if self.late and self._waiting.qsize() >= MOST_WAITING:
            return None
        work = _Work(call)
        self._waiting.put(work)
        return work

    def hear(self, work: _Work[T]) -> bool:
        """Wait for it, unless the disk is late; whether it is done."""
        if work.answered.acquire(timeout=0 if self.late else PATIENCE_S):
            return True
        self.late = True
        if not self._said:
            self._said = True
            with suppress(Exception):
                sys.stderr.write(_SAID[_language()].format(PATIENCE_S))
        return False

    def _go_on(self) -> None:
        while True:
            self._waiting.get().do()
            self.late = False


def _language() -> str:
    """As the guard's options have it."""
    names = ("DOCTOR_GUARD_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
    return "zh" if next(filter(None, map(os.environ.get, names)), "").startswith("zh") else "en"


class _Here:
    """What this process has."""

    disk: Optional[_Disk] = None


def ready() -> bool:
    """Have the thread, as long as one can be made; False where the interpreter is ending."""
    if _Here.disk is None or _Here.disk.pid != os.getpid():
        try:
            _Here.disk = _Disk()
        except RuntimeError:
            return False
    return True


def touch(call: Callable[[], T], late: T, dropped: Optional[Callable[[], object]] = None) -> T:
    """What `call` gives, which reads or writes the disk of the run folder.

    Args:
        call: is done in a thread, soon or, where the disk does not answer, later or never.
        late: given where it has not been done in time.
        dropped: called where it will not be done at all, for too much waits.

    Raises:
        BaseException: what `call` raised in time.

    """
    if not ready() or _Here.disk is None:
        return call()
    disk = _Here.disk
    work = disk.ask(call)
    if work is None:
        if dropped is not None:
            dropped()
        return late
    if not disk.hear(work):
        return late
    if work.failed is not None:
        raise work.failed
    return work.value  # type: ignore[return-value]

"""Exceptions that end the program, or a thread of it, recorded in the run folder before Python prints them."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Any, Optional

from doctor.monitors.capsule import hooks
from doctor.monitors.guard.shield import GuardStop, shielded
from doctor.run.folder import Events, RunDir

if TYPE_CHECKING:
    from doctor.monitors.guard.guard import Guard

_MOST_TEXT, _MOST_TRACEBACK = 2000, 8000


class _Watched:
    """What this process watches: its id, its guard once it has one, and the exception recorded last."""

    pid: Optional[int] = None
    guard: Optional[Guard] = None
    last: Optional[BaseException] = None


def watch(guard: Optional[Guard] = None) -> None:
    """Record uncaught exceptions of this process from now on, through `guard` as soon as there is one.

    The hooks that were there are called as before. A hook that is set later and does not call ours hides nothing: what
    Python printed last is looked at when the program ends.
    """
    if guard is not None:
        _Watched.guard = guard
    hooks.install()
    if _Watched.pid == os.getpid():
        return
    first = _Watched.pid is None
    _Watched.pid = os.getpid()
    if not first:  # a forked child has the hooks already
        return
    before, before_in_threads = sys.excepthook, threading.excepthook

    def hook(kind: Any, error: BaseException, where: Any) -> None:
        record(error)
        before(kind, error, where)

    def hook_of_threads(args: Any) -> None:
        if args.exc_value is not None:
            record(args.exc_value, thread=getattr(args.thread, "name", None))
        before_in_threads(args)

    sys.excepthook, threading.excepthook = hook, hook_of_threads
    atexit.register(_at_exit)


@shielded
def record(error: BaseException, thread: Optional[str] = None) -> None:
    """Write an exception into the run folder, once; an interruption by the user and the guard's own stop are none.

    Args:
        error: the exception.
        thread: name of the thread that it ended; None for the main one.

    """
    if _Watched.pid != os.getpid() or error is _Watched.last:
        return
    if not isinstance(error, Exception) or isinstance(error, GuardStop):
        return
    _Watched.last = error
    if _Watched.guard is not None and thread is None:
        _Watched.guard.exception(error)
        return
    run = RunDir.of_environment()
    if run is None:
        return
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    events = Events(run, role="trainer")
    events.write(
        "exception", type=type(error).__name__, text=str(error)[:_MOST_TEXT], traceback=text[-_MOST_TRACEBACK:],
        thread=thread,
    )  # fmt: skip
    events.close()


def _at_exit() -> None:
    """The last exception that Python printed (`sys.last_value`), where another hook kept it from ours."""
    error = getattr(sys, "last_value", None)
    if isinstance(error, BaseException) and not hasattr(sys, "ps1"):
        record(error)

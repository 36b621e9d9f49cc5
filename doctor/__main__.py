"""``python -m doctor`` and the console scripts ``doctor`` and ``grpo-doctor``."""

from __future__ import annotations

import os
import sys

try:
    _here = os.getcwd()  # noqa: PTH109 - before anything else is imported
except OSError:  # the folder was removed
    _here = ""
if __name__ == "__main__" and sys.path[:1] in ([""], [os.environ.get("PWD")], [_here]):
    del sys.path[0]  # `-m` puts the working directory there, and a `json.py` or `rich.py` of the user's with it

import gc
import io
import signal

#: what ends a process when somebody asks it to; Windows has but the first
_ENDS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_INTERRUPTED = 130
#: what Python sets LC_CTYPE to where the locale is C: https://peps.python.org/pep-0538/
_COERCED = frozenset({"C.UTF-8", "C.utf8", "UTF-8"})
#: objects between two looks for cycles, instead of some hundreds: a start makes many that stay, and few cycles
_NEW_OBJECTS = 50_000


def main() -> None:
    """Run the command line and leave at once.

    A fact that ran out of time may still hang in a system call in its thread; leaving through `os._exit` keeps it
    from holding the doctor back.
    """
    try:
        _main()
    except KeyboardInterrupt:  # while the command line was being imported
        os._exit(_INTERRUPTED)


def _main() -> None:
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
    _uncoerced()
    _own_first()
    from doctor.base.own_modules import find_own_modules_directly

    find_own_modules_directly()
    from doctor.cli.app import run
    from doctor.render.plain import plain_output

    came = _interrupted_by(_ENDS)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):  # a file name may hold bytes that are no text, or command a terminal
            setattr(sys, name, plain_output(stream))
    code = run(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        if stream is None:  # started with the descriptor closed
            continue
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 1
    if came and code == _INTERRUPTED:
        os.kill(os.getpid(), came[0])  # so that its parent sees what ended it
    os._exit(code)


def _own_first() -> None:
    """Look for modules in the doctor's own environment first: PYTHONPATH is the command's, with a `rich.py` maybe."""
    given = {os.path.abspath(each) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each}  # noqa: PTH100
    if given and not sys.flags.ignore_environment:
        sys.path.sort(key=given.__contains__)


def _uncoerced() -> None:
    """Give LC_CTYPE back where Python's own start has changed it: commands would inherit that.

    A Python among them sets it again for itself. https://man7.org/linux/man-pages/man5/proc_pid_environ.5.html: the
    environment as it was at the start.
    """
    if os.environ.get("LC_CTYPE") not in _COERCED:
        return
    try:
        with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - pathlib is not imported yet
            given = [each for each in file.read().split(b"\0") if each.startswith(b"LC_CTYPE=")]
    except OSError:
        return
    if given:
        os.environ["LC_CTYPE"] = os.fsdecode(given[0].partition(b"=")[2])
    else:
        del os.environ["LC_CTYPE"]


def _interrupted_by(numbers: tuple[signal.Signals, ...]) -> list[int]:
    """Have signals that end a process do what Ctrl-C does, so that temporary folders and children go with it.

    One that is ignored (nohup) stays so. Gives the list of those that came; a second one ends the doctor at once.
    """
    came: list[int] = []
    own = os.getpid()

    def interrupt(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        if os.getpid() != own:  # a fork that reads logs: nothing of its own stays behind
            os.kill(os.getpid(), number)
            return
        came.append(number)
        raise KeyboardInterrupt

    for each in numbers:
        if signal.getsignal(each) is signal.SIG_DFL:
            signal.signal(each, interrupt)
    return came


if __name__ == "__main__":
    main()

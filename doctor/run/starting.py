"""Starts the user's command with all that a shell would have given it, and as `execvp` would.

A command may be handed files beside its three streams: `--config <(sed ...)` of a shell, a lock, a job server of make,
a descriptor on which it says that it is ready. Python closes them in what it starts, and opens none of its own that a
child would get: https://peps.python.org/pep-0446/
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

#: what keeps a process from starting another, and not from becoming it
OUT_OF = frozenset({errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM})
#: by whom a file without `#!` is run: https://man7.org/linux/man-pages/man3/exec.3.html
_SHELL = "/bin/sh"
#: bytes of a file that are looked at: a program for another machine is no script
_HEAD = 512
#: signals that Python ignores for itself alone
_IGNORED = ("SIGPIPE", "SIGXFSZ")


def inherited() -> tuple[int, ...]:
    """Descriptors beside the three streams that this process was given, and would give on."""
    found = []
    for folder in ("/proc/self/fd", "/dev/fd"):
        with suppress(OSError, ValueError):
            for each in map(int, os.listdir(folder)):  # noqa: PTH208 - numbers, no paths
                with suppress(OSError):  # that of the folder itself
                    if each > 2 and os.get_inheritable(each):
                        found.append(each)
            break
    return tuple(found)


def started(
    argv: Sequence[str], variables: Mapping[str, str], given: Sequence[int], **streams: Any
) -> subprocess.Popen[bytes]:
    """Start a command.

    Args:
        argv: its words, not empty.
        variables: its environment.
        given: descriptors that it gets beside its streams.
        streams: as for `subprocess.Popen`.

    Raises:
        OSError: it cannot be started.

    """
    try:
        return subprocess.Popen(list(argv), env=dict(variables), pass_fds=given, **streams)
    except OSError as exc:
        script = _script(argv[0], variables) if exc.errno == errno.ENOEXEC else None
        if script is None:
            raise
        return subprocess.Popen([_SHELL, script, *argv[1:]], env=dict(variables), pass_fds=given, **streams)


def become(argv: Sequence[str], variables: Mapping[str, str]) -> NoReturn:
    """Become the command, so that its signals and its exit code are its own.

    Raises:
        OSError: it cannot be started.

    """
    for name in _IGNORED:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execvpe(argv[0], list(argv), dict(variables))  # noqa: S606 - the user's own command
    except OSError as exc:
        script = _script(argv[0], variables) if exc.errno == errno.ENOEXEC else None
        if script is None:
            raise
        os.execve(_SHELL, [_SHELL, script, *argv[1:]], dict(variables))  # noqa: S606


def _script(command: str, variables: Mapping[str, str]) -> str | None:
    """The file of a command that names no interpreter; None where it is no text."""
    path = command if os.sep in command else shutil.which(command, path=variables.get("PATH"))
    with suppress(OSError):
        if path is not None:
            with Path(path).open("rb") as file:
                return None if b"\0" in file.read(_HEAD) else path
    return None

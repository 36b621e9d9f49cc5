"""Asks a program of the user's machine: in a bounded time, for a bounded answer, and nothing of it goes on afterwards.

`subprocess.run` ends only the program itself when its time is over, not what that has started, and keeps all that it
prints meanwhile: gigabytes of one that prints without end.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

_MOST = 16 << 20
_BLOCK = 1 << 16
#: how often it is asked whether the program has ended while something else holds its output open
_LOOK_MS = 50


class Answered(NamedTuple):
    """What a program did with the time that it was given.

    Args:
        code: its exit code; None where it was ended from here.
        out: its standard output, `err`: its standard error; of one that was ended, what it had said until then.

    """

    code: int | None
    out: bytes
    err: bytes


def answer(argv: Sequence[str], *, seconds: float, cwd: Path | None = None, most: int = _MOST) -> bytes | None:
    """What a program prints on its standard output.

    Args:
        argv: its words.
        seconds: after which it is ended, with all that it has started.
        cwd: where it runs.
        most: bytes of an answer; whoever says more is ended too.

    Returns:
        None where it cannot be started, takes too long, says too much, or fails.

    """
    try:
        told = asked(argv, seconds=seconds, cwd=cwd, most=most)
    except (OSError, ValueError):
        return None
    return told.out if told.code == 0 else None


def asked(
    argv: Sequence[str],
    *,
    seconds: float,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    most: int = _MOST,
    given: bytes = b"",
) -> Answered:
    """What a program prints on both its outputs, and how it ended; it reads what it is given.

    One that has ended is not waited for any longer because something that it started holds its output open.

    Args:
        argv: its words.
        seconds: after which it is ended, with all that it has started.
        environ: its variables; ours where None.
        cwd: where it runs.
        most: bytes of an answer; whoever says more is ended too.
        given: what it reads on its standard input, and then the end; nothing else of ours is there.

    Raises:
        OSError: it cannot be started.

    """
    until = time.monotonic() + seconds
    with _holding(given) as held:
        process = subprocess.Popen(
            list(argv), cwd=cwd, env=environ, stdin=held, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
    assert process.stdout is not None  # noqa: S101 - for the type checker
    assert process.stderr is not None  # noqa: S101 - for the type checker
    said = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    out, err = said
    code = None
    with process.stdout, process.stderr:
        try:
            _listen(process, said, until, most)
            code = process.returncode
        finally:
            if process.returncode is None:
                with suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    told = Answered(code, bytes(said[out]), bytes(said[err]))
    return told if len(told.out) + len(told.err) <= most else told._replace(code=None)


@contextmanager
def _holding(given: bytes) -> Iterator[int]:
    """Something to read it from; a file without a name, for a pipe would make who writes wait for who reads."""
    if not given:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(given)
        file.seek(0)
        yield file.fileno()


def _listen(process: subprocess.Popen[bytes], said: dict[int, bytearray], until: float, most: int) -> None:
    """Read until the program has ended, the time is over or it has said too much."""
    waiting = select.poll()
    for number in said:
        waiting.register(number, select.POLLIN)
    opened = len(said)
    while (left := until - time.monotonic()) > 0:
        if not opened:
            with suppress(subprocess.TimeoutExpired):
                process.wait(left)
            return
        ended = process.poll() is not None  # before the last look at what it has said
        ready = waiting.poll(0 if ended else min(1000 * left, _LOOK_MS))
        for number, _ in ready:
            data = os.read(number, _BLOCK)
            said[number] += data
            if not data:
                waiting.unregister(number)
                opened -= 1
        if sum(map(len, said.values())) > most or (ended and not ready):
            return

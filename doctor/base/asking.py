"""Asks a program of the user's machine: in a bounded time, for a bounded answer, and nothing of it goes on afterwards.

`subprocess.run` ends only the program itself when its time is over, not what that has started, and keeps all that it
prints meanwhile: gigabytes of one that prints without end.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_MOST = 16 << 20
_BLOCK = 1 << 16


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
    until = time.monotonic() + seconds
    try:
        process = subprocess.Popen(
            list(argv), cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError):
        return None
    with process:
        said = None
        try:
            said = _said(process, until, most)
            code = None if said is None else process.wait(max(0.0, until - time.monotonic()))
        except (OSError, subprocess.SubprocessError):
            code = None
        finally:
            if process.returncode is None:
                with suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
    return said if code == 0 else None


def _said(process: subprocess.Popen[bytes], until: float, most: int) -> bytes | None:
    assert process.stdout is not None  # noqa: S101 - for the type checker
    number, said = process.stdout.fileno(), bytearray()
    waiting = select.poll()
    waiting.register(number, select.POLLIN)
    while len(said) <= most:
        left = until - time.monotonic()
        if left <= 0 or not waiting.poll(1000 * left):
            return None
        data = os.read(number, _BLOCK)
        if not data:
            return bytes(said)
        said += data
    return None

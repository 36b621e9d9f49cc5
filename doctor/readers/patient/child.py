"""Runs a foreign program for a short time and takes a bounded answer from it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import IO, Any

from doctor.base.record import record

KEEP_ERROR_BYTES = 64 * 1024


@record
class Answer:
    """What a child printed. `code` is its exit status (negative: signal), None when it was killed."""

    code: int | None
    out: bytes
    err: bytes
    overflowed: bool = False


def run(
    argv: Sequence[str], *, environ: Mapping[str, str], stdin: IO[Any], timeout_s: float, limit_bytes: int
) -> Answer:
    """Run `argv` in a process group of its own and in `/`; the whole group is killed at the deadline.

    Raises:
        OSError: the program cannot be started.

    """
    import subprocess
    import time

    child = subprocess.Popen(
        list(argv), env=dict(environ), cwd="/", stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + timeout_s
    finished = overflowed = False
    out, err = bytearray(), bytearray()
    try:
        finished, overflowed = _read(child, out, err, deadline, limit_bytes)
        if finished:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(0.05, deadline - time.monotonic()))
    finally:
        code = child.poll()
        _end(child)
    return Answer(code, bytes(out), bytes(err), overflowed)


def _read(child: Any, out: bytearray, err: bytearray, deadline: float, limit_bytes: int) -> tuple[bool, bool]:
    """Read both pipes until they close; (closed in time, more than the limit came)."""
    import os
    import selectors
    import time

    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ, out)
        selector.register(child.stderr, selectors.EVENT_READ, err)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                return False, False
            for key, _ in ready:
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    selector.unregister(key.fileobj)
                    continue
                key.data.extend(chunk)
                if len(out) > limit_bytes:
                    return False, True
                del err[:-KEEP_ERROR_BYTES]
    return True, False


def _end(child: Any) -> None:
    """Kill what is left of the child's group and reap the child, without waiting for pipes held open."""
    import os
    import signal
    import subprocess

    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    for pipe in (child.stdout, child.stderr):
        pipe.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(1.0)

"""Runs a command of the doctor for an agent: in a process of its own, which a cancelled request ends."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE

import anyio
import anyio.abc
import psutil

#: what is read of a command's output
_MOST_BYTES = 8 << 20
#: seconds between two words on progress, and until a process that was asked to end is killed
_EVERY_S, _GRACE_S = 1.0, 3.0
#: the folder that a command runs in is the user's, and nothing is imported from there
_START = "import sys; sys.path[:] = filter(None, sys.path); from doctor.__main__ import main; main()"

Tell = Callable[[float, str], Awaitable[None]]


class ChildError(Exception):
    """The command gave no answer; the message says why."""


@dataclass(frozen=True)
class Done:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


async def run(arguments: Sequence[str], folder: Path, limit_s: float, tell: Tell) -> Done:
    """Run `doctor ARGUMENTS` in a folder; `tell` is called every second with the seconds and what is going on.

    Whatever ends this call (an answer, a cancelled request, the time limit) ends the process and its children.

    Raises:
        ChildError: it took too long, or printed too much.

    """
    began = time.monotonic()
    taken = _Taken()
    async with await anyio.open_process(
        [sys.executable, "-c", _START, *arguments],
        cwd=folder, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            with anyio.fail_after(limit_s):
                async with anyio.create_task_group() as group:
                    group.start_soon(_report, began, taken, tell)
                    async with anyio.create_task_group() as readers:
                        readers.start_soon(taken.read, process.stdout, taken.out)
                        readers.start_soon(taken.read, process.stderr, taken.err)
                    code = await process.wait()
                    group.cancel_scope.cancel()
        except TimeoutError:
            msg = f"not done after {limit_s:g} s; `--time-limit` of `doctor mcp` sets the limit"
            raise ChildError(msg) from None
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process)
    if taken.too_much:
        msg = "the doctor printed more than the size limit of an answer"
        raise ChildError(msg)
    return Done(code, taken.text(taken.out), taken.text(taken.err))


class _Taken:
    """What a process has printed so far."""

    def __init__(self) -> None:
        self.out, self.err = bytearray(), bytearray()
        self.too_much = False

    async def read(self, stream: anyio.abc.ByteReceiveStream | None, kept: bytearray) -> None:
        """Read to the end, keeping as much as an answer may need."""
        if stream is None:
            return
        async for chunk in stream:
            if len(kept) + len(chunk) > _MOST_BYTES:
                self.too_much = True
                continue
            kept += chunk

    @staticmethod
    def text(kept: bytearray) -> str:
        """As text."""
        return kept.decode("utf-8", "replace")

    def last_word(self) -> str:
        """The last line on stderr, where the doctor says what it is doing."""
        lines = self.text(self.err[-2000:]).splitlines()
        return lines[-1].strip() if lines else ""


async def _report(began: float, taken: _Taken, tell: Tell) -> None:
    while True:
        await anyio.sleep(_EVERY_S)
        await tell(time.monotonic() - began, taken.last_word())


async def _end(process: anyio.abc.Process) -> None:
    """End the process and all that it started, in whatever session that runs."""
    if process.returncode is not None:
        return
    started = _descendants(process.pid)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for each in (process.pid, *started):
            with suppress(ProcessLookupError):
                os.kill(each, number)
        with anyio.move_on_after(_GRACE_S):
            await process.wait()
            return


def _descendants(pid: int) -> list[int]:
    try:
        return [each.pid for each in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []

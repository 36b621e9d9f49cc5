"""The death of the engine behind the server: noticed once, told to all who wait for it, and by the exit code.

What the servers do by themselves: vLLM's answer that there is a "stack trace (above)", forget requests that come in
while the engine dies, wait for those without end ("Waiting for connections to close") and end with exit code 0. TRL's
own (up to 1.10) waits inside of its event loop for a worker that was killed, and answers nobody, not even `/health`.
https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/entrypoints/launchers/launcher.py
https://github.com/huggingface/trl/blob/v0.17.0/trl/scripts/vllm_serve.py
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import Any, Awaitable, Callable, Optional

from doctor.fixes.vllm_server import processes, record, state
from doctor.fixes.vllm_server.health import HEALTH
from doctor.fixes.vllm_server.settings import SETTINGS

_LOOK_S = 1.0
_EXIT_S = 2.0
#: what the server gets to answer by itself those who wait for a dead engine
_GRACE_S = 3.0
#: what the doctor gets to take notice of the death, before it is decided how long it is waited for
_HEARD_S = 2.0
#: an event loop that takes no turn for so long waits for something
_STUCK_S = 5.0
#: used by nobody else: Python's and vLLM's own are the first ones
_INTERRUPT = signal.SIGRTMAX - 3 if hasattr(signal, "SIGRTMAX") else None
_RECEIVING = frozenset({"recv", "recv_bytes", "_recv", "_recv_bytes"})


def answered_s() -> float:
    """Until all who wait for a dead engine have the doctor's diagnosis, or have waited long enough."""
    return record.patience() + _GRACE_S + 2.0


class EngineDeadError(Exception):
    """Named like vLLM's own: the engine does not answer any more."""


class Death:
    """What is known of the engine's death in this process.

    `reason` is None while the engine lives; `waiting` are the tasks that answer requests to generate.
    """

    def __init__(self) -> None:
        self.reason: Optional[str] = None
        self.waiting: set[Any] = set()
        self._cut: set[Any] = set()
        self._told = False
        self._lock = threading.Lock()
        self._failed_since: Optional[float] = None

    def look(self) -> Optional[str]:
        """The reason, looked for where there is none yet; at the server's own end processes may go."""
        if self.reason is None and not HEALTH.draining:
            reason = found()
            if reason is not None and self.settled():
                self.reason = reason
                self.tell("EngineDeadError", reason)
        return self.reason

    def settled(self) -> bool:
        """Whether it is known how the process of a failed engine ended, or has been waited for long enough.

        vLLM hears of the death of a process before the system tells how it ended.
        """
        if processes.lost() is not None:
            return True
        now = time.monotonic()
        self._failed_since = now if self._failed_since is None else self._failed_since
        return now - self._failed_since >= _EXIT_S

    def tell(self, kind: str, message: str) -> None:
        """Say it to the doctor, who then looks for the cause: once."""
        with self._lock:
            told, self._told = self._told, True
        if told:
            return
        lost = processes.lost()
        if lost is not None:  # a killed process says nothing: the diagnosis reads it here
            sys.stderr.write(f"doctor: {lost}\n")
            sys.stderr.flush()
        record.write("exception", type=kind, message=lost or message, engine_dead=True)

    def was_cut(self, task: Any) -> bool:
        """Whether this task was cancelled because its engine is dead; the cancellation is taken back."""
        if task not in self._cut:
            return False
        self._cut.discard(task)
        with suppress(AttributeError):  # Python 3.11
            task.uncancel()
        return True

    def cut(self) -> None:
        """Take all who wait for the engine from what they wait for."""
        for each in [*self.waiting]:
            self._cut.add(each)
            each.cancel()

    def exit(self) -> None:
        """The end of a server that has lost its engine.

        Raises:
            SystemExit: exit code 1, where vLLM's servers have 0.

        """
        if self.reason is not None:
            raise SystemExit(1)


DEATH = Death()


def found() -> Optional[str]:
    """Why nothing more can be generated: as the engine says, and where there is none to be asked, its processes."""
    lost = processes.lost()
    engine = state.engine()
    if engine is None:
        return lost
    with suppress(Exception):  # whatever its property does
        if engine.errored:
            return lost or "the engine has failed"
    return None


async def known(*, failed: bool = False) -> None:
    """Wait for how the process of an engine that failed has ended; `failed`: that it has is known already."""
    while DEATH.reason is None and (failed or found()) and not DEATH.settled():  # noqa: ASYNC110
        await asyncio.sleep(0.05)


# The server's end ----------------------------------------------------------------------------------------------


def watch(server: Any, loop: Any) -> None:
    """Look after the engine of uvicorn's server from a thread: its loop, of this thread, may be what waits."""
    if threading.current_thread() is threading.main_thread() and _INTERRUPT is not None:
        signal.signal(_INTERRUPT, _interrupted)
    arguments = (server, loop, threading.get_ident())
    threading.Thread(target=_watch, args=arguments, name="doctor-engine", daemon=True).start()


def _watch(server: Any, loop: Any, waiting: int) -> None:
    while DEATH.reason is None:
        if found() is None or HEALTH.draining:
            time.sleep(_LOOK_S)
        else:
            asyncio.run(known())
            DEATH.look()
    with suppress(RuntimeError):  # the loop is closed: the server has ended
        loop.call_soon_threadsafe(_begin_end, server)
        while True:
            turned = threading.Event()
            loop.call_soon_threadsafe(turned.set)
            if not turned.wait(_STUCK_S) and HEALTH.in_flight and _INTERRUPT is not None:
                signal.pthread_kill(waiting, _INTERRUPT)
            time.sleep(_LOOK_S)


def _interrupted(_number: int, frame: Any) -> None:
    """Raise in a server that waits in its event loop for what a dead process will never send; nowhere else."""
    while frame is not None:
        code = frame.f_code
        if code.co_name in _RECEIVING and code.co_filename.endswith(os.path.join("multiprocessing", "connection.py")):  # noqa: PTH118
            raise EngineDeadError(DEATH.reason)
        frame = frame.f_back


_tasks: list[Any] = []  # the loop keeps no reference to a task


def _begin_end(server: Any) -> None:
    _tasks.append(asyncio.get_running_loop().create_task(_end(server)))


async def _end(server: Any) -> None:
    """See to it that everybody is answered, then let the server end, as vLLM's watchdog does in most releases."""
    await _until_idle(lambda: _GRACE_S)
    DEATH.cut()
    await _until_idle(answered_s)
    if os.environ.get("VLLM_KEEP_ALIVE_ON_ENGINE_DEATH", "0") in {"", "0"}:
        server.should_exit = True


async def _until_idle(patience_s: Callable[[], float]) -> None:
    begun = time.monotonic()
    while HEALTH.in_flight and time.monotonic() - begun < patience_s():  # noqa: ASYNC110 - a count, and a deadline
        await asyncio.sleep(0.05)


def bounded(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Give uvicorn's shutdown an end: it waits without one for requests that nobody will answer."""

    @functools.wraps(original)
    async def end(self: Any, *args: Any, **kwargs: Any) -> Any:
        await known()
        if DEATH.look() is None:
            bound = max(1.0, SETTINGS.drain_s)
        else:
            begun = time.monotonic()
            while HEALTH.in_flight and not record.heard() and time.monotonic() - begun < _HEARD_S:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            bound = answered_s()
        given = getattr(self.config, "timeout_graceful_shutdown", None)
        self.config.timeout_graceful_shutdown = bound if given is None else min(given, bound)
        HEALTH.draining = True  # from here on the engine may go
        return await original(self, *args, **kwargs)

    return end


def telling(original: Callable[..., Any]) -> Callable[..., Any]:
    """Let `uvicorn.run`, by which TRL's own server runs, end with an exit code."""

    @functools.wraps(original)
    def run_and_tell(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        DEATH.exit()
        return result

    return run_and_tell


def ended(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Let vLLM's launcher, which leaves the last steps to be awaited by its caller, end with an exit code."""

    @functools.wraps(original)
    async def serve(*args: Any, **kwargs: Any) -> Any:
        rest = await original(*args, **kwargs)
        return _finished(rest) if inspect.isawaitable(rest) else rest

    return serve


async def _finished(rest: Awaitable[Any]) -> None:
    await rest
    DEATH.exit()

"""The server's beginning and end: told to the run folder when it listens, drained when it is asked to go.

uvicorn's `should_exit` is the way out that vLLM's own watchdog takes, in every release; its signal handlers cancel
the server instead, from 0.18.0 after the engine was stopped, so that requests in flight are lost.
https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/entrypoints/launchers/launcher.py
"""

from __future__ import annotations

import asyncio
import functools
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import Any, Awaitable, Callable

from doctor.fixes.vllm_server import death, processes, record
from doctor.fixes.vllm_server.health import HEALTH
from doctor.fixes.vllm_server.settings import SETTINGS

_LOOK_S = 0.05
#: a signal to the process group comes once more from the doctor, who is in it and hands on what he is sent
_ONE_WISH_S = 2.0

_tasks: list[Any] = []  # the loop keeps no reference to a task


def announced(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Tell when uvicorn listens, and take over its end."""

    @functools.wraps(original)
    async def start(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = await original(self, *args, **kwargs)
        if getattr(self, "started", False):
            with suppress(Exception):
                _listening(self)
        return result

    return start


def _listening(server: Any) -> None:
    processes.settle()
    HEALTH.listening_since = time.time()
    record.write("start", listening=True, host=server.config.host, port=server.config.port)
    loop = asyncio.get_running_loop()
    death.watch(server, loop)
    if threading.current_thread() is threading.main_thread():
        ending = Ending(server, loop)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, ending.asked)


class Ending:
    """Ends a uvicorn server: first request drains it, second one does not wait."""

    def __init__(self, server: Any, loop: Any) -> None:
        self._server = server
        self._loop = loop
        self._asked = 0.0

    def asked(self) -> None:
        """A signal asks the server to end."""
        now = time.monotonic()
        if HEALTH.draining:
            if now - self._asked > _ONE_WISH_S:
                self._server.should_exit = self._server.force_exit = True
            return
        self._asked = now
        HEALTH.draining = True
        _tasks.append(self._loop.create_task(self._drain()))

    async def _drain(self) -> None:
        left = SETTINGS.drain_s
        if HEALTH.in_flight:
            sys.stderr.write(f"doctor: {HEALTH.in_flight} requests in flight get {left:g} s to finish\n")
        deadline = time.monotonic() + SETTINGS.drain_s
        while HEALTH.in_flight and time.monotonic() < deadline:  # noqa: ASYNC110 - a count, and a deadline
            await asyncio.sleep(_LOOK_S)
        if HEALTH.in_flight:
            sys.stderr.write(f"doctor: {HEALTH.in_flight} requests were cut off after {left:g} s\n")
            self._server.force_exit = True
        self._server.should_exit = True

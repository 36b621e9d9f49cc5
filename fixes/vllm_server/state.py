"""Gives vLLM's application the attributes that its launcher and handlers read and its demo server never sets.

Which release reads what: https://github.com/vllm-project/vllm/issues/17395 (`engine_client`, fatal in 0.8.5) and
https://github.com/vllm-project/vllm/issues/20842 (`enable_server_load_tracking`, 0.9.1 and 0.9.2).
"""

from __future__ import annotations

import functools
import inspect
import sys
from argparse import Namespace
from contextlib import suppress
from typing import Any, Awaitable, Callable, Optional

from doctor.fixes.vllm_server.progress import PROGRESS

#: key of the request's scope under which an error that vLLM's handlers swallow is handed to the guard
ERRORS = "doctor.errors"

_DEFAULTS = {"enable_server_load_tracking": False, "server_load_metrics": 0}


class _Served:
    """The application of this process, once there is one."""

    application: Any = None


SERVED = _Served()


def engine() -> Any:
    """The engine that this process serves, None where it is not known (TRL's own server keeps none)."""
    return getattr(getattr(SERVED.application, "state", None), "engine_client", None)


def mended(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Complete the application before vLLM's launcher serves it."""

    @functools.wraps(original)
    async def serve(*args: Any, **kwargs: Any) -> Any:
        with suppress(Exception):  # the launcher then says itself what it lacks
            caller = sys._getframe(1).f_locals  # noqa: SLF001 - the demo server hands its arguments to nobody
            complete(args[0] if args else kwargs["app"], caller.get("args"))
        return await original(*args, **kwargs)

    return serve


def complete(application: Any, arguments: Any = None) -> None:
    """Set what is missing; what vLLM set itself stays."""
    SERVED.application = application
    state = application.state
    if not hasattr(state, "engine_client"):
        found = _engine_of(application.routes)
        if found is not None:
            state.engine_client = found
    if isinstance(arguments, Namespace) and not hasattr(state, "args"):
        state.args = arguments
    PROGRESS.follow(getattr(state, "engine_client", None))
    for name, value in _DEFAULTS.items():
        if not hasattr(state, name):
            setattr(state, name, value)
    application.build_middleware_stack = _telling(application, application.build_middleware_stack)


def _engine_of(routes: Any) -> Optional[Any]:
    """The global `engine` of the module whose function answers `/generate`; as `__main__` it has no other name."""
    for route in routes:
        names = getattr(getattr(route, "endpoint", None), "__globals__", {})
        if names.get("engine") is not None and "_generate" in names:
            return names["engine"]
    return None


def _telling(application: Any, original: Callable[[], Any]) -> Callable[[], Any]:
    """Let the application's own exception handlers tell what they swallow; called when all of them are known."""

    def build_telling() -> Any:
        for kind, handler in list(application.exception_handlers.items()):
            application.exception_handlers[kind] = _noting(handler)
        return original()

    return build_telling


def _noting(original: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def note_and_await(request: Any, error: Exception) -> Any:
            request.scope.get(ERRORS, []).append(error)
            return await original(request, error)

        return note_and_await

    @functools.wraps(original)
    def note(request: Any, error: Exception) -> Any:
        request.scope.get(ERRORS, []).append(error)
        return original(request, error)

    return note

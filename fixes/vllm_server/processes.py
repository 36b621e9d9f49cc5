"""The processes behind the server: whether the engine's still live, and their end when the server has died.

A server that is killed leaves `VLLM::EngineCore` behind, which holds the GPU's memory
(https://github.com/vllm-project/vllm/issues/55510). Each process that `multiprocessing` starts therefore looks once a
second whether it still has its parent. PR_SET_PDEATHSIG would be told of the end of the starting thread instead.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
import time
import weakref
from contextlib import suppress
from typing import Any, Callable, Optional

_LOOK_S = 1.0
#: what an engine gets to release its GPU before it is killed
_GRACE_S = 5.0
_OWNERS = ("vllm", "trl")

_started: list[tuple[str, weakref.ref[Any]]] = []
_needed: list[tuple[str, weakref.ref[Any]]] = []


def watched(original: Callable[..., Any]) -> Callable[..., Any]:
    """End a child of `multiprocessing` when its parent is gone."""

    @functools.wraps(original)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        with suppress(RuntimeError):  # no more threads: the process does without
            threading.Thread(target=_look, args=(_parent_of(self),), name="doctor-parent", daemon=True).start()
        return original(self, *args, **kwargs)

    return run


def _parent_of(process: Any) -> int:
    """Whom a child belongs to, told by its own object: by now the parent may be dead and the kernel name another.

    What a fork server starts is its child and lives as long as it does, which is as long as the server lives.
    """
    import multiprocessing  # not above: this module is there before the hook on what it imports is

    method = getattr(process, "_start_method", None) or multiprocessing.get_start_method(allow_none=True)
    method = method or multiprocessing.get_all_start_methods()[0]  # the platform's own, none having been set
    own = None if method == "forkserver" else getattr(process, "_parent_pid", None)
    return own or os.getppid()


def _look(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_S)
    os.kill(os.getpid(), signal.SIGKILL)


def remembered(original: Callable[..., Any]) -> Callable[..., Any]:
    """Keep in mind which processes vLLM or TRL starts."""

    @functools.wraps(original)
    def begin(self: Any, *args: Any, **kwargs: Any) -> Any:
        target = getattr(self, "_target", None)  # gone after the start
        owner = _real_name(getattr(target, "__module__", None) or type(self).__module__)
        result = original(self, *args, **kwargs)
        if owner.split(".")[0] in _OWNERS:
            _started.append((self.name, weakref.ref(self)))
        return result

    return begin


def _real_name(module: str) -> str:
    """Name of a module, also of the one that was started by `python -m`."""
    spec = getattr(sys.modules.get(module), "__spec__", None)
    return getattr(spec, "name", None) or module


def settle() -> None:
    """Take the processes that live now, when the server begins to listen, for those that it cannot do without."""
    _needed[:] = [each for each in _started if _exit_code(each[1]) is None]


def lost() -> Optional[str]:
    """What became of a process that the server needs; None while all of them live."""
    for name, process in _needed:
        code = _exit_code(process)
        if code is not None:
            ended = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            return f"process `{name}` {ended}"
    return None


def _exit_code(process: weakref.ref[Any]) -> Optional[int]:
    """None while it lives, and where nobody can say: its object is gone or closed."""
    found = process()
    try:
        code = None if found is None else found.exitcode
    except (ValueError, AssertionError):
        return None
    return code if isinstance(code, int) else None

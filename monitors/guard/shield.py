"""Fail-open: a bug of the guard switches off one of its hooks and never reaches the training loop."""

from __future__ import annotations

import functools
import sys
from contextlib import suppress
from typing import Any, Callable, TypeVar, cast

from doctor.run.folder import Events, RunDir

Hook = TypeVar("Hook", bound=Callable[..., Any])

_OFF = "_doctor_hooks_off"

#: names of all that has ever failed in this process: mostly nothing has, and nobody need look further
_failed: set[str] = set()


class GuardStop(Exception):  # noqa: N818 - it is no error of the program: the guard was asked to end the run
    """Ends the run because the policy of a problem is `raise`; the only exception that the guard lets out."""


def shielded(original: Hook) -> Hook:
    """Let no exception of `original` out, but GuardStop and what is no Exception (KeyboardInterrupt).

    The first one is told once, on standard error and as an event of kind `monitor`; from then on the function does
    nothing and gives None. A method is switched off for its own object, whose `hook_failed` is called if it has one; a
    plain function for the process.
    """
    name, everywhere = original.__qualname__, set[str]()

    @functools.wraps(original)
    def shield(*args: Any, **kwargs: Any) -> Any:
        try:
            if name in _failed and name in _off(name, args, everywhere):
                return None
            return original(*args, **kwargs)
        except GuardStop:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the run goes on
            _switch_off(name, args, everywhere, error)
            return None

    return cast("Hook", shield)


def shielded_event(original: Callable[[Any, Any, Any, Any], None]) -> Callable[..., None]:
    """The same of a callback's event that needs nothing of what the trainer names: to hand that on takes long."""
    name = original.__qualname__

    @functools.wraps(original)
    def shield(self: Any, args: Any, state: Any, control: Any, **_: Any) -> None:
        try:
            if name not in _failed or name not in _off(name, (self,), set()):
                original(self, args, state, control)
        except GuardStop:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the run goes on
            _switch_off(name, (self,), set(), error)

    return shield


def _off(name: str, args: tuple[Any, ...], everywhere: set[str]) -> set[str]:
    """The names that are switched off where this one would be: of its object, or `everywhere`."""
    if args and "." in name:
        with suppress(Exception):  # a class, or an object of the program's that has no such dictionary
            found: set[str] = args[0].__dict__.setdefault(_OFF, set())
            return found
    return everywhere


def _switch_off(name: str, args: tuple[Any, ...], everywhere: set[str], error: Exception) -> None:
    _failed.add(name)
    _off(name, args, everywhere).add(name)
    with suppress(Exception):
        getattr(args[0] if args else None, "hook_failed", _nothing)()
    _tell(name, error)


def _nothing() -> None:
    """An object that need not be told."""


def _tell(name: str, error: Exception) -> None:
    text = type(error).__name__
    with suppress(Exception):  # the words of an exception are the program's own code
        text = f"{text}: {error}"
    with suppress(Exception):
        sys.stderr.write(f"doctor: guard: `{name}` failed and is switched off ({text}); the run goes on\n")
    with suppress(Exception):
        run = RunDir.of_environment()
        if run is not None:
            events = Events(run, role="trainer")
            events.write("monitor", hook=name, error=text)
            events.close()

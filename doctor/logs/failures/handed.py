"""Whose argument it is that a library finds to be None: followed up the frames to the code that handed it down."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from doctor.base.patterns import later
from doctor.logs.failures import expressions as line
from doctor.logs.failures.frames import Frame

#: functions that are called by the name of their class or object
_BY_OBJECT = frozenset({"__init__", "__call__", "forward", "__new__"})
_ROOT = later(r"^[A-Za-z_]\w*")
#: a call of which the traceback shows the first line alone
_UNFINISHED = later(r"(?:^|[=\s(])(?P<of>[A-Za-z_][\w.]{1,80})\($")


class Handed(NamedTuple):
    """What was handed down.

    Args:
        given: the expression in the code that handed it down; "" where the call is shown in part.
        of: the function or class that was given it.
        frame: where it was handed down.

    """

    given: str
    of: str
    frame: Frame


def handed_down(frames: Sequence[Frame], subject: str) -> Handed | None:
    """Who handed down the variable with which an expression begins, the outermost code that is shown to have done so.

    Args:
        frames: of the traceback, outermost first; the last one asked.
        subject: the expression, as `model.config`.

    """
    root = _ROOT.match(subject)
    if root is None or root[0] == "self":
        return None
    at, found = root[0], None
    for caller, callee in zip(reversed(frames[:-1]), reversed(frames[1:]), strict=False):
        call = _call(caller, callee)
        if call is None:
            unfinished = _UNFINISHED.search(caller.code.strip())
            whole = unfinished is not None and (callee.function in _BY_OBJECT or found is not None)
            return Handed("", unfinished["of"], caller) if unfinished and whole and caller.own else found
        value = _argument(call, at)
        if value is None or isinstance(value, ast.Starred):
            return found
        found = Handed(line.shown(value), line.name_of(call.func), caller)
        if not isinstance(value, ast.Name) or caller.own:
            return found
        at = value.id
    return found


def _call(caller: Frame, callee: Frame) -> ast.Call | None:
    """The one call of a function in the line of the frame above it."""
    every = [each for each in line.every(line.parsed(caller.code), ast.Call) if isinstance(each, ast.Call)]
    named = [each for each in every if line.name_of(each.func) == callee.function]
    if not named and callee.function in _BY_OBJECT:
        named = every
    whole = len(named) == 1 and not caller.code.strip().endswith("(")
    return named[0] if whole else None


def _argument(call: ast.Call, name: str) -> ast.expr | None:
    """What a call gives for a parameter: by its name, as the only argument, or under the same name."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if len(call.args) == 1 and not call.keywords:
        return call.args[0]
    return next((each for each in call.args if isinstance(each, ast.Name) and each.id == name), None)

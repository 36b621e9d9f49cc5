"""Puts something around a method of one object, and takes it off again."""

from __future__ import annotations

import functools
from typing import Any, Callable


def wrap(owner: Any, name: str, around: Callable[[Any], Callable[..., Any]]) -> Callable[[], None]:
    """Put what `around` makes of `owner.name` in its place; the answer undoes it.

    On the instance only: its class and other objects of it stay as they are.
    """
    original, own = getattr(owner, name), name in vars(owner)
    wrapper = functools.wraps(original)(around(original))

    def undo() -> None:
        if vars(owner).get(name) is not wrapper:
            return  # somebody else has put something around it since
        if own:
            setattr(owner, name, original)
        else:
            delattr(owner, name)

    setattr(owner, name, wrapper)
    return undo

"""Puts something around a method of one object, and takes it off again."""

from __future__ import annotations

import functools
from typing import Any, Callable


def wrap(owner: Any, name: str, around: Callable[..., Any]) -> Callable[[], None]:
    """Call `around(original, *args, **kwargs)` in place of `owner.name`; the answer undoes it.

    On the instance only: its class and other objects of it stay as they are.
    """
    original, own = getattr(owner, name), name in vars(owner)

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return around(original, *args, **kwargs)

    def undo() -> None:
        if vars(owner).get(name) is not wrapper:
            return  # somebody else has put something around it since
        if own:
            setattr(owner, name, original)
        else:
            delattr(owner, name)

    setattr(owner, name, wrapper)
    return undo

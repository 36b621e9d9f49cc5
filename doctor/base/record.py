"""Frozen dataclasses that cost little to declare.

`dataclasses.dataclass(frozen=True)` compiles six methods for each class; for the hundred classes that one `doctor
check` imports this was a quarter of its time. A `@record` is a dataclass (`fields`, `replace` and `is_dataclass` work
on it) whose methods are the functions below, shared by all of them.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, FrozenInstanceError
from typing import TYPE_CHECKING, Any, Callable, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Callable[[Any], Any]:
        """Mark a decorator for type checkers; Python has it from 3.11 on."""
        return lambda function: function


Class = TypeVar("Class", bound=type)


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def record(cls: Class) -> Class:
    """Make a class an immutable dataclass with shared methods."""
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    made.__record__ = fields = dataclasses.fields(made)
    made.__defaults__ = {each.name: None if each.default is MISSING else each.default for each in fields}
    made.__without_default__ = tuple(each for each in fields if each.default is MISSING)
    made.__init__, made.__setattr__, made.__delattr__ = _init, _frozen, _frozen
    made.__hash__ = _hash
    for name, shared in (("__repr__", _repr), ("__eq__", _eq)):
        if name not in vars(cls):
            setattr(made, name, shared)
    return cls


def _init(self: Any, *args: Any, **given: Any) -> None:
    """Take values in the order of the fields, or by name.

    Dictionaries are laid over each other instead of asking for each field: a report has tens of thousands of records.

    Raises:
        TypeError: a value is missing, or there is no such field.

    """
    cls, values = type(self), self.__dict__
    if args:
        given = _by_name(cls, args, given)
    values.update(cls.__defaults__)
    values.update(given)
    if len(values) != len(cls.__record__):
        msg = f"{cls.__name__}() got an unexpected {next(name for name in values if name not in cls.__defaults__)!r}"
        raise TypeError(msg)
    for each in cls.__without_default__:
        if each.name in given:
            continue
        if each.default_factory is MISSING:
            msg = f"{cls.__name__}() lacks a value for {each.name!r}"
            raise TypeError(msg)
        values[each.name] = each.default_factory()
    if hasattr(cls, "__post_init__"):
        self.__post_init__()


def _by_name(cls: Any, args: tuple[Any, ...], given: dict[str, Any]) -> dict[str, Any]:
    """Values that were given in order joined with those given by name.

    Raises:
        TypeError: there are too many, or one was given twice.

    """
    if len(args) > len(cls.__record__):
        msg = f"{cls.__name__}() takes {len(cls.__record__)} values, {len(args)} were given"
        raise TypeError(msg)
    found = dict(zip(cls.__defaults__, args))  # noqa: B905 - Python 3.9; the rest follows
    for name in given:
        if name in found:
            msg = f"{cls.__name__}() got a second {name!r}"
            raise TypeError(msg)
    found.update(given)
    return found


def _repr(self: Any) -> str:
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in self.__record__ if each.repr)
    return f"{type(self).__qualname__}({shown})"


def _compared(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, each.name) for each in self.__record__ if each.compare)


def _eq(self: Any, other: object) -> bool:
    return _compared(self) == _compared(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _frozen(self: Any, name: str, *_: Any) -> None:
    msg = f"{type(self).__name__} is frozen: {name!r} cannot change"
    raise FrozenInstanceError(msg)

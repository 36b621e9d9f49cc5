"""Dataclasses that cost little to declare, frozen ones above all.

`dataclasses.dataclass(frozen=True)` compiles six methods for each class; for the hundred classes that one `doctor
check` imports this was a quarter of its time. A `@record` is a dataclass (`fields`, `replace` and `is_dataclass` work
on it) whose methods are the functions below, shared by all of them; a `@mutable` is the same for fields that change.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import MISSING, FrozenInstanceError
from typing import TYPE_CHECKING, Any, Callable, TypeVar, cast

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Callable[[Any], Any]:
        """Mark a decorator for type checkers; Python has it from 3.11 on."""
        return lambda function: function


Class = TypeVar("Class", bound=type)
Made = TypeVar("Made")


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def record(cls: Class) -> Class:
    """Make a class an immutable dataclass with shared methods."""
    made: Any = _shared(cls)
    made.__setattr__, made.__delattr__, made.__hash__ = _frozen, _frozen, _hash
    return cls


@dataclass_transform(field_specifiers=(dataclasses.field,))
def mutable(cls: Class) -> Class:
    """Make a class a dataclass with shared methods, whose fields may change."""
    made: Any = _shared(cls)
    made.__hash__ = None
    return cls


def _shared(cls: Any) -> Any:
    cls.__init__ = _init
    for name, shared in (("__repr__", _repr), ("__eq__", _eq)):
        if name not in vars(cls):
            setattr(cls, name, shared)
    if any(isinstance(each, dataclasses.Field) for each in vars(cls).values()):
        _complete(cls)  # at once, for these would be seen as values of the class
    else:
        for name in _LATER:
            setattr(cls, name, _Later(cls, name))
    return cls


def _complete(cls: Any) -> None:
    """Find out the fields; done twice, by two threads, it gives the same."""
    dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    fields = dataclasses.fields(cls)
    defaults = {each.name: None if each.default is MISSING else each.default for each in fields}
    cls.__without_default__ = tuple(each for each in fields if each.default is MISSING)
    cls.__record__, cls.__defaults__ = fields, defaults


class _Later:
    """Stands for what is known of a class when its fields are: most classes of a run never have an instance."""

    def __init__(self, cls: Any, name: str) -> None:
        self._cls, self._name = cls, name

    def __get__(self, instance: object, owner: Any) -> Any:
        """Find it out; from then on it stands here itself."""
        _complete(self._cls)
        return getattr(self._cls, self._name)


_LATER = ("__dataclass_fields__", "__without_default__", "__record__", "__defaults__")


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


def restored(cls: type[Made], values: Mapping[str, Any]) -> Made:
    """An instance of a record with values that were taken from one: they are not looked at, as a start restores
    thousands.

    Args:
        cls: a record without `__post_init__`.
        values: by field; usual ones may lack.

    """
    made, kind = object.__new__(cls), cast("Any", cls)
    held = made.__dict__
    held.update(kind.__defaults__)
    held.update(values)
    for each in kind.__without_default__:
        if each.name not in values:
            held[each.name] = each.default_factory()
    return made


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

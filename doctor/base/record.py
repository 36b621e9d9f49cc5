"""Dataclasses that cost little to declare, frozen ones above all.

`dataclasses.dataclass(frozen=True)` compiles six methods for each class; for the hundred classes that one `doctor
check` imports this was a quarter of its time. A `@record` is a dataclass (`fields`, `replace` and `is_dataclass` work
on it) whose methods are the functions below, shared by all of them; a `@mutable` is the same for fields that change.
"""

from __future__ import annotations

import dataclasses
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


@dataclass_transform(eq_default=False, field_specifiers=(dataclasses.field,))
def distinct(cls: Class) -> Class:
    """Make a class a dataclass with shared methods, whose fields may change; an instance equals nothing but itself."""
    made: Any = cls
    made.__eq__, made.__repr__ = object.__eq__, object.__repr__
    _shared(cls).__hash__ = object.__hash__
    return cls


def _shared(cls: Any) -> Any:
    cls.__init__ = _init
    for name, shared in (("__repr__", _repr), ("__eq__", _eq)):
        if name not in vars(cls):
            setattr(cls, name, shared)
    given = {name: value for name, value in vars(cls).items() if isinstance(value, dataclasses.Field)}
    for name, each in given.items():  # these would be seen as values of the class
        if each.default is MISSING:
            delattr(cls, name)
        else:
            setattr(cls, name, each.default)
    cls.__given__ = given
    for name in _PARTS:
        setattr(cls, name, _Later(cls, name, _find_parts))
    for name in _STANDARD:
        setattr(cls, name, _Later(cls, name, _find_standard))
    return cls


class FieldPart:
    """A field of a record, as far as its methods ask; `dataclasses.fields` gives all of it.

    Args:
        name: of the field.
        given: its default, or what `dataclasses.field` made.

    """

    __slots__ = ("compare", "default", "default_factory", "name", "repr")

    def __init__(self, name: str, given: Any) -> None:
        """Take it apart."""
        factory: Any = MISSING
        self.name, self.default, self.default_factory, self.repr, self.compare = name, given, factory, True, True
        if isinstance(given, dataclasses.Field):
            self.default, self.default_factory = given.default, given.default_factory
            self.repr, self.compare = given.repr, bool(given.compare)


def _declared(cls: Any) -> dict[str, tuple[str, Any]]:
    """Name of each field -> its annotation and its default, those of the records that it is made of first."""
    found: dict[str, tuple[str, Any]] = {}
    for each in reversed(cls.__mro__):
        space = vars(each)
        if "__given__" in space:
            for name, annotation in space.get("__annotations__", {}).items():
                found[name] = annotation, space["__given__"].get(name, space.get(name, MISSING))
    return found


def _find_parts(cls: Any) -> None:
    """Find out what the methods ask for; done twice, by two threads, it gives the same."""
    parts = tuple([FieldPart(name, given) for name, (_, given) in _declared(cls).items()])
    cls.__needed__ = [each.name for each in parts if each.default is each.default_factory is MISSING]
    cls.__made__ = [(each.name, each.default_factory) for each in parts if each.default_factory is not MISSING]
    cls.__defaults__ = {each.name: None if each.default is MISSING else each.default for each in parts}
    cls.__record__ = parts


def _find_standard(cls: Any) -> None:
    """Find out what `dataclasses` wants to know, which few ask for, and for which it looks closely at every field.

    It looks at a class of the same fields: one that is in use is not changed for a moment.
    """
    declared = _declared(cls)
    space = {name: given for name, (_, given) in declared.items() if given is not MISSING}
    annotations = {name: annotation for name, (annotation, _) in declared.items()}
    space.update(__annotations__=annotations, __module__=cls.__module__, __doc__=cls.__doc__ or "")
    twin: Any = dataclasses.dataclass(init=False, repr=False, eq=False)(type(cls.__name__, (), space))
    for name in _STANDARD:
        setattr(cls, name, getattr(twin, name))


class _Later:
    """Stands for what is known of a class until it is asked for: most classes of a run never have an instance."""

    def __init__(self, cls: Any, name: str, find: Callable[[Any], None]) -> None:
        self._cls, self._name, self._find = cls, name, find

    def __get__(self, instance: object, owner: Any) -> Any:
        """Find it out; from then on it stands here itself."""
        self._find(self._cls)
        return getattr(self._cls, self._name)


_PARTS = ("__needed__", "__made__", "__record__", "__defaults__")
_STANDARD = ("__dataclass_fields__", "__dataclass_params__")


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
    for name in cls.__needed__:
        if name not in given:
            msg = f"{cls.__name__}() lacks a value for {name!r}"
            raise TypeError(msg)
    for name, make in cls.__made__:
        if name not in given:
            values[name] = make()
    if hasattr(cls, "__post_init__"):
        self.__post_init__()


def restored(cls: type[Made], values: dict[str, Any]) -> Made:
    """An instance of a record with values that were taken from one: they are not looked at, as a start restores
    thousands.

    Args:
        cls: a record without `__post_init__`.
        values: by field, those that :func:`unusual` tells; it becomes the record's own. What lacks is read from the
            class, where a default stands.

    """
    made = object.__new__(cls)
    for name, make in cast("Any", cls).__made__:
        if name not in values:
            values[name] = make()
    object.__setattr__(made, "__dict__", values)  # a record itself lets nothing be set
    return made


def replace(made: Made, /, **changes: Any) -> Made:
    """As `dataclasses.replace`, which makes all that it wants to know of a record's class first.

    Raises:
        TypeError: there is no such field.

    """
    cls: Any = type(made)
    usual = getattr(cls, "__defaults__", None)
    if usual is None:
        other: Any = dataclasses.replace(made, **changes)  # type: ignore[type-var]
        return cast("Made", other)
    values = {name: getattr(made, name) for name in usual}
    values.update(changes)
    if len(values) != len(usual):
        return cast("Made", cls(**values))  # it says which field there is not
    new = object.__new__(cls)
    object.__setattr__(new, "__dict__", values)  # a record itself lets nothing be set
    if hasattr(cls, "__post_init__"):
        new.__post_init__()
    return cast("Made", new)


def names_of(cls: type) -> tuple[str, ...]:
    """Names of a record's fields, in their order."""
    return tuple(cast("Any", cls).__defaults__)


def unusual(made: object) -> dict[str, Any]:
    """The values of a record that are not the usual ones: what :func:`restored` needs; not what it has derived."""
    parts = cast("Any", made).__record__
    usual = {each.name: each.default if each.default_factory is MISSING else each.default_factory() for each in parts}
    return {name: value for name, value in vars(made).items() if name in usual and value != usual[name]}


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

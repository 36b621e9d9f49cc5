"""Frozen dataclasses to JSON and back, by their type annotations; unknown fields are refused."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from doctor.base.evidence import Observed, Place
from doctor.base.opened import closed_in, is_open, opened, seen_in

#: beside the fields of an open record: which of them are known with all that they hold
OPEN = "__open__"


class CodecError(ValueError):
    """The data do not fit the type; the message names the path inside the data."""


def dump(value: Any) -> Any:
    """Plain JSON data of dataclasses, tuples, mappings and scalars; fields at their defaults are left out."""
    if is_open(value):
        return {**{name: dump(each) for name, each in seen_in(value).items()}, OPEN: sorted(closed_in(value))}
    if isinstance(value, Observed):
        return _dump_written(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            each.name: dump(getattr(value, each.name))
            for each in dataclasses.fields(value)
            if not _is_default(each, getattr(value, each.name))
        }
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): dump(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [dump(each) for each in value]
    if isinstance(value, (set, frozenset)):
        return sorted(dump(each) for each in value)
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return str(value)


def _dump_written(value: Observed) -> dict[str, Any]:
    """A setting within a fact, as facts files have it."""
    data = {"name": value.name, "value": dump(value.value) if value.known else None}
    more = {"known": value.known, "text": value.text, "place": value.place and dump(value.place)}
    return {**data, **{key: each for key, each in more.items() if each != _WRITTEN[key]}}


def _load_written(data: Any) -> Observed:
    if not isinstance(data, Mapping):
        _refuse(data, "a mapping for a setting")
    if unknown := data.keys() - {"name", "value", *_WRITTEN}:
        tail = f": unknown field {min(unknown)!r}"
        raise _MisfitError(tail, "a setting")
    if lacking := {"name", "value"} - data.keys():
        tail = f": lacks a value for {min(lacking)!r}"
        raise _MisfitError(tail, "a setting")
    given = {**_WRITTEN, **data}
    for key, kind in (("name", str), ("known", bool), ("text", str)):
        _scalar_loader(kind)(given[key])
    place = None if given["place"] is None else _loader(Place)(given["place"])
    return Observed.written(given["name"], given["value"], given["known"], given["text"], place)


#: fields of a setting that are left out where they say nothing
_WRITTEN: Mapping[str, Any] = {"known": True, "text": "", "place": None}


def _is_default(each: dataclasses.Field[Any], value: Any) -> bool:
    if each.default is not dataclasses.MISSING:
        return bool(each.default is value or (each.default == value and type(each.default) is type(value)))
    return each.default_factory is not dataclasses.MISSING and value == each.default_factory()


class _MisfitError(CodecError):
    """What does not fit, and the way to it, which grows as the error rises; `top` stands for an empty way."""

    def __init__(self, tail: str, top: str = "the top") -> None:
        super().__init__(tail)
        self.way, self.tail, self.top = "", tail, top


def load(cls: Any, data: Any, path: str = "") -> Any:
    """An object of type `cls` from plain data.

    Raises:
        CodecError: a field is unknown or missing, or a value has the wrong type.

    """
    try:
        return _loader(cls)(data)
    except _MisfitError as exc:
        msg = f"{path}{exc.way}" or exc.top
        raise CodecError(f"{msg}{exc.tail}") from None


Loader = Callable[[Any], Any]


@lru_cache(maxsize=1024)
def _loader(cls: Any) -> Loader:
    """A function that loads a type; each type is taken apart once, for thousands of files hold the same types."""
    if cls is Any:
        return lambda data: data
    origin = get_origin(cls)
    if origin in (Union, types.UnionType):
        return _union_loader(get_args(cls))
    if origin is Literal:
        choices = get_args(cls)
        return lambda data: data if data in choices else _refuse(data, f"one of {choices}")
    if origin is tuple:
        return _tuple_loader(get_args(cls))
    if origin is frozenset:
        item = _loader(get_args(cls)[0])
        return lambda data: frozenset(item(each) for each in data)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_loader(*get_args(cls))
    if cls is Observed:
        return _load_written
    if dataclasses.is_dataclass(cls):
        return _dataclass_loader(cls)
    if isinstance(cls, type) and issubclass(cls, Enum):
        return cls
    return _scalar_loader(cls)


def _as_they_are(cls: Any) -> frozenset[type]:
    """Types whose values a loader of `cls` gives back unchanged: nearly all values of a file are text or numbers."""
    members = set(get_args(cls)) if get_origin(cls) in (Union, types.UnionType) else {cls}
    made_floats = {int, bool} if float in members else set()
    return frozenset(members & {str, int, float, bool, type(None)} - made_floats)


def _refuse(data: Any, what: str) -> Any:
    tail = f": {data!r} is not {what}"
    raise _MisfitError(tail)


def _scalar_loader(cls: Any) -> Loader:
    if cls is float:
        return lambda data: float(data) if isinstance(data, (int, float)) else _refuse(data, "a number")
    if cls is int:
        return lambda data: (
            data if isinstance(data, int) and not isinstance(data, bool) else _refuse(data, "an integer")
        )
    return lambda data: data if isinstance(data, cls) else _refuse(data, cls.__name__)


def _union_loader(members: tuple[Any, ...]) -> Loader:
    loaders = [_loader(each) for each in members if each is not type(None)]
    may_lack = len(loaders) < len(members)

    def load_union(data: Any) -> Any:
        if data is None:
            return None if may_lack else _refuse(None, "a value")
        first: _MisfitError | None = None
        for each in loaders:
            try:
                return each(data)
            except _MisfitError as exc:
                first = first or exc
        raise first or _MisfitError(": there is no type")

    return load_union


def _mapping_loader(key_type: Any, value_type: Any) -> Loader:
    value_loader, as_they_are = _loader(value_type), _as_they_are(value_type)

    def load_mapping(data: Any) -> Any:
        if not isinstance(data, Mapping):
            _refuse(data, "a mapping")
        found = {}
        for key, each in data.items():
            try:
                found[_key(key_type, key)] = each if type(each) in as_they_are else value_loader(each)
            except _MisfitError as exc:
                exc.way = f".{key}{exc.way}"
                raise
        return found

    return load_mapping


def _key(cls: Any, key: Any) -> Any:
    """A mapping's key: JSON has only text, so that a port number comes back as a word."""
    if cls is int and isinstance(key, str) and key.isdecimal():
        return int(key)
    return key if cls is not int or isinstance(key, int) else _refuse(key, "an integer as key")


def _tuple_loader(members: tuple[Any, ...]) -> Loader:
    alike = _loader(members[0]) if len(members) == 2 and members[1] is Ellipsis else None
    loaders = [] if alike else [_loader(each) for each in members]

    def load_tuple(data: Any) -> Any:
        if not isinstance(data, (list, tuple)):
            _refuse(data, "a list")
        if alike is None and len(data) != len(loaders):
            _refuse(data, f"{len(loaders)} values")
        found = []
        for number, each in enumerate(data):
            try:
                found.append((alike or loaders[number])(each))
            except _MisfitError as exc:
                exc.way = f"[{number}]{exc.way}"
                raise
        return tuple(found)

    return load_tuple


def _dataclass_loader(cls: Any) -> Loader:
    """Loaders of the fields are looked up when first needed, for a type may hold itself."""
    hints = get_type_hints(cls)
    fields = {each.name: hints[each.name] for each in dataclasses.fields(cls)}
    as_they_are = {name: _as_they_are(hint) for name, hint in fields.items()}
    loaders: dict[str, Loader] = {}

    def load_dataclass(data: Any) -> Any:
        if not isinstance(data, Mapping):
            _refuse(data, f"a mapping for {cls.__name__}")
        if OPEN in data:
            return opened(load_dataclass({key: each for key, each in data.items() if key != OPEN}), seen=data[OPEN])
        values = {}
        for key, each in data.items():
            if key not in fields:
                unknown = min(set(data) - fields.keys())
                raise _MisfitError(f": unknown field {unknown!r}", cls.__name__)
            if type(each) in as_they_are[key]:
                values[key] = each
                continue
            if key not in loaders:
                loaders[key] = _loader(fields[key])
            try:
                values[key] = loaders[key](each)
            except _MisfitError as exc:
                exc.way = f".{key}{exc.way}"
                raise
        try:
            return cls(**values)
        except TypeError as exc:
            tail = f": {exc}"
            raise _MisfitError(tail, cls.__name__) from None

    return load_dataclass

"""Frozen dataclasses to JSON and back, by their type annotations; unknown fields are refused."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


class CodecError(ValueError):
    """The data do not fit the type; the message names the path inside the data."""


def dump(value: Any) -> Any:
    """Plain JSON data of dataclasses, tuples, mappings and scalars; fields at their defaults are left out."""
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


def _is_default(each: dataclasses.Field[Any], value: Any) -> bool:
    if each.default is not dataclasses.MISSING:
        return bool(each.default is value or (each.default == value and type(each.default) is type(value)))
    return each.default_factory is not dataclasses.MISSING and value == each.default_factory()


@lru_cache(maxsize=256)
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def load(cls: Any, data: Any, path: str = "") -> Any:
    """An object of type `cls` from plain data.

    Raises:
        CodecError: a field is unknown or missing, or a value has the wrong type.

    """
    if cls is Any:
        return data
    origin = get_origin(cls)
    if origin in (Union, types.UnionType):
        return _load_union(cls, data, path)
    if origin is Literal:
        return _expect(data in get_args(cls), data, data, path, f"one of {get_args(cls)}")
    if origin is tuple:
        return _load_tuple(get_args(cls), data, path)
    if origin is frozenset:
        return frozenset(load(get_args(cls)[0], each, path) for each in data)
    if origin is not None and issubclass(origin, Mapping):
        _expect(isinstance(data, Mapping), data, data, path, "a mapping")
        key_type, value_type = get_args(cls)
        return {_key(key_type, key, path): load(value_type, each, f"{path}.{key}") for key, each in data.items()}
    if dataclasses.is_dataclass(cls):
        return _load_dataclass(cls, data, path)
    if isinstance(cls, type) and issubclass(cls, Enum):
        return cls(data)
    if cls is float:
        return float(_expect(isinstance(data, (int, float)), data, data, path, "a number"))
    if cls is int:
        return _expect(isinstance(data, int) and not isinstance(data, bool), data, data, path, "an integer")
    return _expect(isinstance(data, cls), data, data, path, cls.__name__)


def _expect(condition: bool, value: Any, data: Any, path: str, what: str) -> Any:
    if not condition:
        msg = f"{path or 'the top'}: {data!r} is not {what}"
        raise CodecError(msg)
    return value


def _key(cls: Any, key: Any, path: str) -> Any:
    """A mapping's key: JSON has only text, so that a port number comes back as a word."""
    if cls is int and isinstance(key, str) and key.isdecimal():
        return int(key)
    return _expect(cls is not int or isinstance(key, int), key, key, path, "an integer as key")


def _load_union(cls: Any, data: Any, path: str) -> Any:
    members = [each for each in get_args(cls) if each is not type(None)]
    if data is None:
        return _expect(len(members) < len(get_args(cls)), None, data, path, "a value")
    errors = []
    for member in members:
        try:
            return load(member, data, path)
        except CodecError as exc:
            errors.append(str(exc))
    raise CodecError(errors[0])


def _load_tuple(members: tuple[Any, ...], data: Any, path: str) -> tuple[Any, ...]:
    _expect(isinstance(data, (list, tuple)), data, data, path, "a list")
    if len(members) == 2 and members[1] is Ellipsis:
        return tuple(load(members[0], each, f"{path}[{i}]") for i, each in enumerate(data))
    _expect(len(data) == len(members), data, data, path, f"{len(members)} values")
    return tuple(load(member, each, f"{path}[{i}]") for i, (member, each) in enumerate(zip(members, data, strict=True)))


def _load_dataclass(cls: Any, data: Any, path: str) -> Any:
    _expect(isinstance(data, Mapping), data, data, path, f"a mapping for {cls.__name__}")
    hints = _hints(cls)
    names = {each.name for each in dataclasses.fields(cls)}
    if unknown := set(data) - names:
        msg = f"{path or cls.__name__}: unknown field {min(unknown)!r}"
        raise CodecError(msg)
    try:
        return cls(**{key: load(hints[key], each, f"{path}.{key}") for key, each in data.items()})
    except TypeError as exc:
        msg = f"{path or cls.__name__}: {exc}"
        raise CodecError(msg) from None

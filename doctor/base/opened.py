"""Facts of which only a part was seen: what nobody observed is unknown, its absence and its default included.

A fact is *closed* where absence proves absence: a probe listed every distribution, a parser read the whole command.
It is *open* where only what was told is known: a log prints three variables, and says nothing of all others. An open
fact is the same record, so that no check has two ways to ask; but to ask it for what nobody observed raises `NotSeen`,
also where a helper asks: a field, a key of a mapping (`get`, `[]`, `in`), how many there are, and the end of a loop
over what was seen, for "none of them" and "all of them" are statements about the rest.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, Optional, TypeVar

from doctor.base.patterns import later

Record = TypeVar("Record")

_WORD = later(r"(?<=[a-z0-9])(?=[A-Z])")
_HIDDEN = "__open__"  # in the dictionary of an open record: what is known of its parts
_ABSENT, _UNSEEN = object(), object()  # known not to be there; nothing known
_asked: ContextVar[Optional[list[Any]]] = ContextVar("asked", default=None)


class NotSeen(Exception):  # noqa: N818 - an answer, not an error
    """Nobody observed this part of a fact.

    Args:
        fact: in snake case.
        name: dotted, as the fact calls it: `arguments.beta`.

    """

    def __init__(self, fact: str, name: str) -> None:
        """Keep both for whoever wants to look for it elsewhere."""
        super().__init__(f"`{name}` of `{fact}` was not seen")
        self.fact, self.name = fact, name


class _Parts:
    """What is known of an open record: who told each part, by its dotted name ("" stands for all others)."""

    __slots__ = ("fact", "tellers")

    def __init__(self, fact: str, tellers: Mapping[str, Any]) -> None:
        self.fact, self.tellers = fact, dict(tellers)

    def asked(self, name: str) -> None:
        """Note whose word an answer rests on."""
        asked = _asked.get()
        if asked is not None:
            teller = self.tellers.get(name, self.tellers.get(""))
            if teller is not None and teller not in asked:
                asked.append(teller)


@contextmanager
def tellers_asked() -> Iterator[list[Any]]:
    """The observations that answers of open facts rest on, as they are asked for."""
    asked: list[Any] = []
    token = _asked.set(asked)
    try:
        yield asked
    finally:
        _asked.reset(token)


class _Field:
    """A field of an open record: its value where it was seen."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        held = instance.__dict__
        if self.name not in held:
            raise NotSeen(held[_HIDDEN].fact, self.name)
        held[_HIDDEN].asked(self.name)
        return held[self.name]

    def __set__(self, instance: Any, value: Any) -> None:
        """Make this a data descriptor, which comes before the instance's dictionary; the record itself is frozen."""
        msg = f"{self.name!r} cannot change"
        raise AttributeError(msg)


class _OpenMapping(Mapping[Any, Any]):
    """Entries that were seen; `absent` are keys that are known not to be there."""

    def __init__(self, seen: Mapping[Any, Any], absent: Iterable[Any], parts: _Parts, name: str) -> None:
        self._seen, self._absent, self._parts, self._name = dict(seen), frozenset(absent), parts, name

    def __getitem__(self, key: Any) -> Any:
        if key in self:
            return self._seen[key]
        raise KeyError(key)

    def __contains__(self, key: Any) -> bool:
        if key not in self._seen and key not in self._absent:
            raise NotSeen(self._parts.fact, f"{self._name}.{key}")
        self._parts.asked(f"{self._name}.{key}")
        return key in self._seen

    def __iter__(self) -> Iterator[Any]:
        for key in self._seen:
            self._parts.asked(f"{self._name}.{key}")
            yield key
        raise NotSeen(self._parts.fact, self._name)

    def __len__(self) -> int:
        raise NotSeen(self._parts.fact, self._name)

    def __bool__(self) -> bool:
        if not self._seen:
            raise NotSeen(self._parts.fact, self._name)
        return True

    def __repr__(self) -> str:
        return f"<open {self._seen!r}>"


class _OpenTuple(tuple[Any, ...]):
    """The first of a row that goes on: `which` says of what."""

    __slots__ = ()
    which: NotSeen

    def __iter__(self) -> Iterator[Any]:
        yield from super().__iter__()
        raise self.which

    def __len__(self) -> int:
        raise self.which

    def __bool__(self) -> bool:
        if not tuple.__len__(self):
            raise self.which
        return True

    def __contains__(self, value: object) -> bool:
        if not tuple.__contains__(self, value):
            raise self.which
        return True

    def __getitem__(self, place: Any) -> Any:
        if not isinstance(place, int) or not 0 <= place < tuple.__len__(self):
            raise self.which
        return tuple.__getitem__(self, place)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, _OpenTuple) and tuple.__eq__(self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return tuple.__hash__(self)

    def __repr__(self) -> str:
        return f"<open {tuple.__repr__(self)}>"

    def __reduce__(self) -> Any:
        return partly, (tuple(tuple.__iter__(self)), self.which.fact, self.which.name)


@cache
def _row_of(fact: str, name: str) -> type[_OpenTuple]:
    return type("_OpenTuple", (_OpenTuple,), {"__slots__": (), "which": property(lambda _: NotSeen(fact, name))})


def partly(values: Iterable[Any], fact: str, name: str) -> tuple[Any, ...]:
    """Values of a field that are not all of them: how many there are is not known.

    Args:
        values: what was seen.
        fact: in snake case.
        name: of the field.

    """
    return tuple.__new__(_row_of(fact, name), tuple(values))


def opened(record: Record, seen: Optional[Iterable[str]] = None, teller: Any = None) -> Record:
    """The same record, of which only a part was seen.

    Args:
        record: any `@record`, a fact or a part of one.
        seen: names of fields, whose values are known with all that they hold, and dotted keys of mappings
            (`arguments.beta`; one that the mapping lacks is known not to be there). None: the fields that differ from
            their default, of mappings the entries that they have.
        teller: who told this: the observation that :func:`tellers_asked` gives when an answer rests on it; or one for
            each part, by its dotted name.

    Entries of a mapping that is not among `seen` are known one by one.

    """
    base: Any = base_of(type(record))
    values: dict[str, Any] = {each.name: record.__dict__[each.name] for each in base.__record__
                              if each.name in record.__dict__}  # fmt: skip
    names = _not_default(base, values) if seen is None else set(seen)
    parts = _Parts(fact_name(base.__name__), teller if isinstance(teller, Mapping) else {"": teller})
    held = {name: value for name, value in values.items() if name in names and not _is_map(value)}
    for name, value in values.items():
        if _is_map(value):
            keys = {each[len(name) + 1 :] for each in names if each.startswith(f"{name}.")}
            whole = seen is not None and name in names
            held[name] = value if whole else _OpenMapping(_entries(value), keys - set(_entries(value)), parts, name)
    made: Record = _made(base, held, parts)
    return made


def _made(base: Any, held: Mapping[str, Any], parts: _Parts) -> Any:
    made = object.__new__(_open_class(base))
    made.__dict__.update(held)
    made.__dict__[_HIDDEN] = parts
    return made


def _not_default(base: Any, values: Mapping[str, Any]) -> set[str]:
    blank = {each.name: each.default_factory() if callable(each.default_factory) else each.default
             for each in base.__record__}  # fmt: skip
    return {name for name, value in values.items() if value != blank[name]}


def _is_map(value: Any) -> bool:
    return isinstance(value, Mapping)


def _entries(value: Any) -> dict[Any, Any]:
    """Entries of a mapping, open or not."""
    return value._seen if isinstance(value, _OpenMapping) else dict(value)  # noqa: SLF001 - of this file


@cache
def _open_class(base: Any) -> Any:
    methods = {"__repr__": _repr, "__eq__": _eq, "__hash__": _hash, "__reduce__": _reduce}
    fields = {each.name: _Field(each.name) for each in base.__record__}
    return type(base.__name__, (base,), {**fields, **methods, "__module__": base.__module__, _HIDDEN: True})


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items() if name != _HIDDEN)
    return f"<open {base_of(type(self)).__name__}({shown})>"


def _plain(self: Any) -> dict[str, Any]:
    return {name: _entries(value) if _is_map(value) else value
            for name, value in self.__dict__.items() if name != _HIDDEN}  # fmt: skip


def _eq(self: Any, other: object) -> bool:
    return type(self) is type(other) and _plain(self) == _plain(other)


def _hash(self: Any) -> int:
    return hash((type(self), tuple(self.__dict__)))


def _reduce(self: Any) -> Any:
    parts = self.__dict__[_HIDDEN]
    held = {}
    for name, value in self.__dict__.items():
        if name != _HIDDEN:
            held[name] = (value._seen, value._absent) if isinstance(value, _OpenMapping) else value  # noqa: SLF001
    loose = {name for name, value in self.__dict__.items() if isinstance(value, _OpenMapping)}
    return _restored, (base_of(type(self)), held, loose, parts.tellers)


def _restored(base: Any, held: dict[str, Any], loose: set[str], tellers: Mapping[str, Any]) -> Any:
    """An open record out of another process."""
    parts = _Parts(fact_name(base.__name__), tellers)
    return _made(base, {name: _OpenMapping(value[0], value[1], parts, name) if name in loose else value
                        for name, value in held.items()}, parts)  # fmt: skip


def is_open(record: Any) -> bool:
    """Whether only a part of a record was seen."""
    return hasattr(type(record), _HIDDEN)


def base_of(cls: type) -> type:
    """The class of the record, open or not."""
    return cls.__mro__[1] if hasattr(cls, _HIDDEN) else cls


def fact_name(type_name: str) -> str:
    """Name of the fact that a type stands for: `AccelerateConfig` -> `accelerate_config`."""
    return _WORD.sub("_", type_name).lower()


def seen_in(record: Any) -> dict[str, Any]:
    """What was seen of a record: field -> value; mappings with the entries that were seen."""
    if not is_open(record):
        return {each.name: getattr(record, each.name) for each in record.__record__}
    return _plain(record)


def closed_in(record: Any) -> set[str]:
    """Names of the fields that are known with all that they hold."""
    return {name for name, value in record.__dict__.items()
            if name != _HIDDEN and not isinstance(value, (_OpenMapping, _OpenTuple))}  # fmt: skip


# --- several tell of the same ---


class Told:
    """One's word on a fact: the record, who says so (None: nobody in particular), and how much it weighs (0: most)."""

    __slots__ = ("rank", "record", "teller")

    def __init__(self, record: Any, teller: Any = None, rank: int = 0) -> None:
        """Take a record, open or not."""
        self.record, self.teller, self.rank = record, teller, rank

    def of(self, field: str, key: Any = _UNSEEN) -> Any:
        """Value of a field, or of an entry of it; `_ABSENT` for an entry that is not there, `_UNSEEN` if unknown."""
        held = self.record.__dict__
        if field not in held:
            return _UNSEEN
        value = held[field]
        if key is _UNSEEN:
            return value
        if not _is_map(value):
            return _UNSEEN
        if key in _entries(value):
            return _entries(value)[key]
        closed = not isinstance(value, _OpenMapping) or key in value._absent  # noqa: SLF001 - of this file
        return _ABSENT if closed else _UNSEEN


class Disagreement:
    """A part of a fact that several tell differently; the value that counts is the first one's, if any does."""

    __slots__ = ("decided", "name", "words")

    def __init__(self, name: str, words: Sequence[tuple[Any, Any]], *, decided: bool) -> None:
        """Take the dotted name, (who, value) with those who are believed most first, and whether one counts."""
        self.name, self.words, self.decided = name, tuple(words), decided


def merged(words: Sequence[Told]) -> tuple[Any, tuple[Disagreement, ...]]:
    """One record of what several tell of a fact, and where they disagree.

    Who weighs more counts; of two that weigh the same and disagree none does: that part was not seen.
    """
    words = sorted(words, key=lambda each: each.rank)
    if len(words) == 1:
        return words[0].record, ()
    base: Any = base_of(type(words[0].record))
    parts = _Parts(fact_name(base.__name__), {})
    held: dict[str, Any] = {}
    disputes: list[Disagreement] = []
    for each in base.__record__:
        values = [value for word in words if (value := word.of(each.name)) is not _UNSEEN]
        if values and all(map(_is_map, values)):
            held[each.name] = _joined(words, each.name, parts, disputes)
        elif values:
            _settle(words, each.name, None, held, parts, disputes)
    whole = len(held) == len(base.__record__) and not any(isinstance(each, _OpenMapping) for each in held.values())
    return (base(**held) if whole else _made(base, held, parts)), tuple(disputes)


def _joined(words: Sequence[Told], field: str, parts: _Parts, disputes: list[Disagreement]) -> Mapping[Any, Any]:
    """A mapping's entries, each decided on its own."""
    maps = [value for each in words if _is_map(value := each.of(field))]
    found: dict[Any, Any] = {}
    for key in dict.fromkeys(key for each in maps for key in _entries(each)):
        _settle(words, field, key, found, parts, disputes)
    doubted = len(found) < len({key for each in maps for key in _entries(each)})
    absent = {key for key, value in found.items() if value is _ABSENT}
    kept = {key: value for key, value in found.items() if value is not _ABSENT}
    if any(not isinstance(each, _OpenMapping) for each in maps) and not doubted:
        return kept
    absent |= {key for each in maps if isinstance(each, _OpenMapping) for key in each._absent}  # noqa: SLF001
    return _OpenMapping(kept, absent - kept.keys(), parts, field)


def _settle(
    words: Sequence[Told], field: str, key: Any, held: dict[Any, Any], parts: _Parts, disputes: list[Disagreement]
) -> None:
    """Take the value of those who weigh most, unless they disagree among themselves."""
    asked = _UNSEEN if key is None else key
    told = [(each, value) for each in words if (value := each.of(field, asked)) is not _UNSEEN]
    if not told:
        return
    name = field if key is None else f"{field}.{key}"
    first, value = told[0]
    equals = [value for each, value in told if each.rank == first.rank]
    decided = all(_alike(value, other) for other in equals)
    if not all(_alike(value, other) for _, other in told):
        disputes.append(Disagreement(name, [(each.teller, _shown(other)) for each, other in told], decided=decided))
    if decided:
        held[field if key is None else key] = value
        parts.tellers[name] = _teller(first, name)


def _teller(word: Told, name: str) -> Any:
    hidden = word.record.__dict__.get(_HIDDEN)
    known = hidden.tellers.get(name, hidden.tellers.get("")) if hidden is not None else None
    return known if known is not None else word.teller


def _shown(value: Any) -> Any:
    return None if value is _ABSENT else value


def _alike(one: Any, other: Any) -> bool:
    """Whether two values are the same; of settings what is set counts, not where it stands."""
    if hasattr(one, "value") and hasattr(other, "value"):
        return bool(one.value == other.value and one.known == other.known)
    return bool(one is other or one == other)

"""`@record` behaves as a frozen dataclass does."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any

import pytest

from doctor.base import record as records
from doctor.base.record import distinct, mutable, names_of, record, restored, unusual


@record
class Point:
    """A record."""

    x: int
    y: int = 2
    tags: Mapping[str, str] = field(default_factory=dict)
    cache: list[int] = field(default_factory=list, repr=False, compare=False)

    @property
    def total(self) -> int:
        """Sum."""
        return self.x + self.y


@dataclass(frozen=True)
class Twin:
    """The same as the standard library makes it."""

    x: int
    y: int = 2
    tags: Mapping[str, str] = field(default_factory=dict)
    cache: list[int] = field(default_factory=list, repr=False, compare=False)


@record
class Checked:
    """One that looks at its values."""

    name: str

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("no name")


@record
class Single:
    """One that can be a key."""

    x: int


def test_values_defaults_and_words() -> None:
    assert is_dataclass(Point)
    assert [each.name for each in fields(Point)] == ["x", "y", "tags", "cache"]
    assert repr(Point(1)) == repr(Twin(1)).replace("Twin", "Point")
    assert Point(1, tags={"a": "b"}).tags == {"a": "b"}
    assert Point(1).tags is not Point(1).tags
    assert Point(1).total == 3
    assert replace(Point(1), y=5) == Point(1, 5)


def test_equality_and_hash() -> None:
    assert Point(1, cache=[1]) == Point(1, cache=[2])
    assert Point(1) != Point(2)
    assert Point(1) != Twin(1)
    assert hash(Single(1)) == hash(Single(1))
    with pytest.raises(TypeError):
        hash(Point(1))  # a dictionary inside, as with the standard library's


@pytest.mark.parametrize("arguments", [((), {}), ((1, 2, {}, [], 5), {}), ((1,), {"x": 1}), ((1,), {"z": 1})])
def test_wrong_values_are_refused(arguments: Any) -> None:
    for cls in (Point, Twin):
        with pytest.raises(TypeError):
            cls(*arguments[0], **arguments[1])


def test_it_is_frozen_and_checked() -> None:
    with pytest.raises(FrozenInstanceError):
        Point(1).x = 3  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del Point(1).x
    with pytest.raises(ValueError, match="no name"):
        Checked("")


def test_copies() -> None:
    assert copy.deepcopy(Point(1)) == Point(1)
    assert pickle.loads(pickle.dumps(Point(1))) == Point(1)  # noqa: S301 - our own bytes


def test_one_whose_fields_change() -> None:
    @mutable
    class Tally:
        """A mutable one."""

        name: str
        count: int = 0
        seen: list[int] = field(default_factory=list)

    tally = Tally("a")
    tally.count += 1
    tally.seen.append(3)
    assert tally == Tally("a", 1, [3]) != Tally("a")
    assert repr(tally).endswith("Tally(name='a', count=1, seen=[3])")
    with pytest.raises(TypeError):
        hash(tally)


def test_fields_are_found_out_when_they_are_asked_for() -> None:
    @record
    class Base:
        """Asked for by the one made of it."""

        x: int
        y: int = 2

    class Plain(Base):
        """No record of its own."""

    @record
    class Derived(Base):
        """One more field."""

        z: int = 3

    assert Plain(1).y == 2
    assert [each.name for each in fields(Derived)] == ["x", "y", "z"]
    assert Derived(1) == Derived(x=1, y=2, z=3)
    assert is_dataclass(Base)
    assert Base.y == 2


def test_what_dataclasses_wants_is_found_out_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    @record
    class Made:
        """With a default in words of `dataclasses`."""

        x: int
        y: int = field(default=2, repr=False)
        z: list[int] = field(default_factory=list)

    def refuse(**_: Any) -> Any:
        pytest.fail("a class was looked through that nobody asked for")

    with monkeypatch.context() as patch:
        patch.setattr(dataclasses, "dataclass", refuse)
        made = Made(1)
        assert (made, repr(made)) == (Made(1, 2, []), repr(made))
        assert (Made.y, hasattr(Made, "z")) == (2, False)
    assert asdict(made) == {"x": 1, "y": 2, "z": []}
    assert (Made.y, hasattr(Made, "z")) == (2, False)


def test_what_lacks_in_what_is_restored_is_usual() -> None:
    made = Point(1, tags={"a": "b"})
    assert unusual(made) == {"x": 1, "tags": {"a": "b"}}
    again = restored(Point, unusual(made))
    assert (again, again.y, again.cache, repr(again)) == (made, 2, [], repr(made))
    assert replace(again, y=5) == replace(made, y=5)
    assert names_of(Point) == ("x", "y", "tags", "cache")


def test_replaced_as_the_standard_library_does() -> None:
    first = Point(1, tags={"a": "b"})
    assert records.replace(first, y=5) == replace(first, y=5) == Point(1, 5, {"a": "b"})
    assert first.y == 2
    assert records.replace(restored(Point, {"x": 4}), x=3) == Point(3)
    assert records.replace(Twin(1), x=3) == Twin(3)
    for refused in ({"z": 1}, {"x": 1, "w": 2}):
        with pytest.raises(TypeError, match="unexpected"):
            records.replace(first, **refused)
    with pytest.raises(ValueError, match="no name"):
        records.replace(Checked("a"), name="")


def test_distinct_ones_equal_only_themselves() -> None:
    @distinct
    class Walk:
        path: str
        seen: list[int] = field(default_factory=list)

    one, other = Walk("a"), Walk("a")
    one.path = "b"
    one.seen.append(1)
    assert (one.path, other.path, other.seen) == ("b", "a", [])
    assert one == one  # noqa: PLR0124
    assert other != Walk("a")
    assert len({one, other}) == 2
    assert is_dataclass(Walk)
    assert [each.name for each in fields(Walk)] == ["path", "seen"]
    assert "seen" not in repr(one)

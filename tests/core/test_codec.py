"""Types of values that come out of JSON: what a dataclass says, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, Optional, Union

import pytest

from doctor.base.codec import CodecError, dump, load
from doctor.base.evidence import Observed, Place
from doctor.base.opened import NotSeen, opened
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpu


class Colour(Enum):
    """An enumeration."""

    RED = "red"


@dataclass(frozen=True)
class Inner:
    """Something inside."""

    names: tuple[str, ...] = ()
    shares: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Outer:
    """Something of every kind of field."""

    count: int | None = None
    share: Optional[float] = None
    either: Union[int, float] = 0
    text: str = ""
    kind: Literal["a", "b"] = "a"
    colour: Colour = Colour.RED
    inner: Inner | None = None
    mixed: str | Inner = ""
    anything: Any = None


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"count": 3}, Outer(count=3)),
        ({"count": None, "share": None}, Outer()),
        ({"share": 3}, Outer(share=3.0)),
        ({"either": 3}, Outer(either=3)),
        ({"either": 0.5}, Outer(either=0.5)),
        ({"colour": "red", "kind": "b"}, Outer(kind="b")),
        ({"inner": {"names": ["x"], "shares": {"1": 2}}}, Outer(inner=Inner(("x",), {1: 2.0}))),
        ({"mixed": {"names": []}}, Outer(mixed=Inner())),
        ({"mixed": "x", "anything": [1]}, Outer(mixed="x", anything=[1])),
    ],
)
def test_values_have_the_types_of_their_fields(data: dict[str, Any], expected: Outer) -> None:
    loaded = load(Outer, data)
    assert repr(loaded) == repr(expected)  # 3 == 3.0, but they read otherwise
    assert load(Outer, dump(loaded)) == loaded


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"count": True}, ".count: True is not an integer"),
        ({"count": 1.5}, ".count: 1.5 is not an integer"),
        ({"share": "1"}, ".share: '1' is not a number"),
        ({"text": None}, ".text: None is not str"),
        ({"kind": "c"}, "'c' is not one of"),
        ({"inner": {"names": [1]}}, ".inner.names[0]: 1 is not str"),
        ({"inner": {"shares": {"x": 1.0}}}, "'x' is not an integer as key"),
        ({"other": 1}, "unknown field 'other'"),
        ([], "[] is not a mapping for Outer"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(data: Any, told: str) -> None:
    with pytest.raises(CodecError) as caught:
        load(Outer, data)
    assert told in str(caught.value)


def test_open_facts_come_back_open() -> None:
    told = opened(Environment({"NCCL_DEBUG": "INFO"}))
    again = load(Environment, json.loads(json.dumps(dump(told))))
    assert again.get("NCCL_DEBUG") == "INFO"
    with pytest.raises(NotSeen):
        again.get("NCCL_IB_DISABLE")
    card = opened(Gpu(0, name="H100"), seen={"index", "name"})
    again = load(Gpu, json.loads(json.dumps(dump(card))))
    assert again.name == "H100"
    with pytest.raises(NotSeen):
        _ = again.memory_total_bytes


@pytest.mark.parametrize(
    "written",
    [
        Observed.written("beta", 0.1, text="0.1", place=Place("train.py", 3, 5)),
        Observed.written("beta", None, known=False, text="B"),
        Observed.written("beta", None),
    ],
)
def test_settings_come_back_as_they_were(written: Observed) -> None:
    assert load(Observed, json.loads(json.dumps(dump(written)))) == written
    with pytest.raises(CodecError):
        load(Observed, {**dump(written), "other": 1})
    with pytest.raises(CodecError):
        load(Observed, {"name": "beta"})

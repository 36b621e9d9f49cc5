"""Values are told without running any code of theirs, however hostile they are."""

from __future__ import annotations

import ast
import enum
import json
import sys
import time
from collections import OrderedDict, UserDict, deque
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

from doctor.diagnosis.capsule_schema import CAPSULE
from doctor.monitors.capsule import looks, write
from doctor.monitors.capsule.expressions import Scope, value_of
from doctor.monitors.capsule.frames import Teller, message_of
from doctor.monitors.capsule.looks import UNTOLD
from doctor.monitors.capsule.values import Facts

RAN: list[str] = []


def ran(name: str) -> Any:
    """A method that must never be called."""

    def method(*_: Any, **__: Any) -> Any:
        RAN.append(name)
        raise RuntimeError(name)

    return method


SPECIAL = (
    "__repr__", "__str__", "__len__", "__iter__", "__getitem__", "__getattr__", "__getattribute__", "__eq__",
    "__hash__", "__bool__", "__contains__", "__format__", "__reduce__", "__sizeof__", "__dir__", "__index__", "__int__",
    "__float__", "__call__", "__lt__", "__add__", "__instancecheck__",
)  # fmt: skip


def hostile(base: type) -> type:
    """A class whose every method is forbidden, below a plain type."""
    members: dict[str, Any] = {each: ran(f"{base.__name__}.{each}") for each in SPECIAL}
    members["__class__"] = property(ran("__class__"))
    members["__dict__"] = property(ran("__dict__"))
    members["shape"] = members["name"] = property(ran("property"))
    return type(f"Hostile{base.__name__}", (base,), members)


HOSTILE = [object, dict, list, tuple, str, int, float, set, deque, OrderedDict, UserDict, Exception, bytes, frozenset]
TEXTS = (
    "x", "x.name", "x.shape", "x[0]", "x['a']", "len(x)", "x == 1", "x in [1]", "1 in x", "not x", "x and 1", "x + 1",
    "x < 2", "x is None", "bool(x)", "int(x)", "abs(x)", "isinstance(x, int)", "hasattr(x, 'y')", "getattr(x, 'y', 1)",
    "x.get('a')", "x.keys()", "x.size(0)", "x()", "x if x else x", "[x, x]", "-x", "f'{x}'", "{1: 2}[x]", "d[x]",
    "d['k']",
    "x in d", "'k' in d", "min(x, 1)", "x.y.z", "x @ x", "x ** 9", "type(x)", "max(x)",
)  # fmt: skip


@pytest.mark.parametrize("base", HOSTILE)
def test_nothing_of_a_hostile_object_runs(base: type) -> None:
    made = hostile(base)
    value = base.__new__(made)
    RAN.clear()
    scope = Scope({"x": value, "d": {"k": value}}, {})
    facts = Facts(time.monotonic() + 5)
    for text in TEXTS:
        told = value_of(ast.parse(text, mode="eval").body, scope)
        if told is not UNTOLD:
            facts.of(told, text)
    facts.of([value, {"a": value, "b": [value]}, (value,)])
    facts.of(SimpleNamespace(inner=value))
    assert RAN == []


def test_a_metaclass_is_not_asked() -> None:
    class Meta(type):
        __getattribute__ = ran("meta")
        __instancecheck__ = ran("instancecheck")
        __eq__ = ran("eq")
        __hash__ = type.__hash__

    class Odd(metaclass=Meta):
        pass

    RAN.clear()
    value = object.__new__(Odd)
    scope = Scope({"x": value, "C": Odd}, {})
    for text in ("x.y", "isinstance(x, C)", "C.y", "C == 1", "type(x)", "x"):
        value_of(ast.parse(text, mode="eval").body, scope)
    Facts(time.monotonic() + 5).of(value)
    Facts(time.monotonic() + 5).of(Odd)
    assert RAN == []


@dataclass
class Settings:
    """A configuration."""

    rate: float = 1e-3
    steps: int = 10
    name: str | None = None
    tags: list[str] = field(default_factory=list)
    api_token: str = ""


class Colour(enum.Enum):
    """An enumeration."""

    RED = 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.steps % 3", 1), ("b['k'][1]", 2), ("len(b)", 1), ("a.steps > 3 and a.rate < 1", True), ("1 % zero", UNTOLD),
        ("b.get('none', 5)", 5), ("'k' in b", True), ("a.name is None", True), ("missing", UNTOLD), ("b['no']", UNTOLD),
        ("isinstance(a, Settings)", True), ("hasattr(a, 'rate')", True), ("getattr(a, 'steps')", 10), ("c.x.y", 4),
        ("10 ** 10 ** 10", UNTOLD), ("(a.steps, 2)", (10, 2)), ("b['k'] == [1, 2]", True), ("list(b)", UNTOLD),
        ("'a' * 10 ** 9", UNTOLD), ("not b", False), ("a.steps if b else 0", 10), ("d[-1]", 9), ("e.A", UNTOLD),
    ],
)  # fmt: skip
def test_plain_expressions(text: str, expected: Any) -> None:
    scope = Scope(
        {"a": Settings(), "b": {"k": [1, 2]}, "zero": 0, "c": SimpleNamespace(x=SimpleNamespace(y=4)), "d": deque([9])},
        {"Settings": Settings},
    )  # fmt: skip
    told = value_of(ast.parse(text, mode="eval").body, scope)
    assert told is UNTOLD if expected is UNTOLD else told == expected


def test_configurations_by_what_differs() -> None:
    told = Facts(time.monotonic() + 5).of(Settings(steps=7, api_token="very-secret-word"), "settings")  # noqa: S106
    assert {name: fact["value"] for name, fact in told["fields"].items() if "value" in fact} == {
        "steps": 7, "api_token": "set",
    }  # fmt: skip
    assert told["defaults"]["name"] == {"type": "NoneType", "value": None}
    assert Facts(time.monotonic() + 5).of(Colour.RED)["value"] == "RED"


def test_tensors_and_modules_by_what_they_are() -> None:
    torch = pytest.importorskip("torch")
    facts = Facts(time.monotonic() + 5)
    told = facts.of(torch.zeros(2, 3, 4, requires_grad=True))
    assert told["shape"] == [2, 3, 4]
    assert (told["dtype"], told["device"], told["stride"]) == ("torch.float32", "cpu", [12, 4, 1])
    assert told["requires_grad"] is told["is_leaf"] is True

    class Own(torch.Tensor):  # type: ignore[misc, name-defined]
        __torch_function__ = classmethod(ran("torch_function"))
        shape = property(ran("shape"))

    RAN.clear()
    own = torch.zeros(2, 3).as_subclass(Own)
    assert facts.of(own)["shape"] == [2, 3]
    assert RAN == []
    with __import__("torch._subclasses.fake_tensor").__dict__["_subclasses"].fake_tensor.FakeTensorMode():
        large = torch.empty(10_000_000_000 // 4)
    assert facts.of(large)["shape"] == [2_500_000_000]
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2).to(torch.bfloat16))
    module[0].requires_grad_(False)
    told = Facts(time.monotonic() + 30).of(module)
    assert (told["parameters"], told["requires_grad"]) == (26, 10)
    assert told["dtypes"] == {"torch.float32": 2, "torch.bfloat16": 2}
    assert looks.length(module) == 2
    assert looks.attribute(looks.item(module, 0), "in_features") == 3


def _capsule(error: BaseException) -> tuple[str, float]:
    """The capsule of an exception as text, and the seconds that it took."""
    begin = time.monotonic()
    teller = Teller(begin + 0.8)
    chain = teller.chain(error)
    capsule = {
        "schema": write.SCHEMA, "captured_ns": 1, "seconds": 0.1, "process": {}, "stands": None,
        "configs": teller.configs, "modules": teller.modules, "trouble": [],
        "failures": [{"source": "excepthook", "ends": True, "thread": None, "code": None, "t_ns": 1, "chain": chain}],
    }  # fmt: skip
    text = write.bounded(capsule)
    jsonschema.validate(json.loads(text), CAPSULE)
    return text, time.monotonic() - begin


def _huge() -> None:
    numbers = list(range(3_000_000))
    table = {f"key {each} " * 5: ["text " * 1000] * 50 for each in range(20_000)}
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    circle: dict[str, Any] = {}
    circle["self"] = circle
    if numbers and table and nested and circle:
        raise ValueError(numbers, "y" * 5_000_000)


def _deep(count: int = 0) -> None:
    things = [count] * 100
    _deep(len(things) + count)


def _no_memory() -> None:
    size = 1 << 62
    bytearray(size)


def _wide() -> None:
    values = {f"v{each}": ["z" * 60] * 50 for each in range(3000)}
    names = "+".join(f"len(values['v{each}'])" for each in range(3000))
    exec(f"def f(values):\n    if {names} > 1:\n        raise ValueError('wide')\nf(values)", {"values": values})  # noqa: S102


def _chained() -> None:
    try:
        _huge()
    except ValueError as first:
        raise RuntimeError("second") from first


@pytest.mark.parametrize("fails", [_huge, _deep, _no_memory, _wide, _chained])
def test_capsules_are_small_and_quick(fails: Any) -> None:
    try:
        fails()
    except BaseException as error:  # noqa: BLE001 - also RecursionError and MemoryError
        text, seconds = _capsule(error)
    assert len(text) < 1_000_000
    assert seconds < 2.0
    assert "text text" not in text


def test_messages_without_asking_the_exception() -> None:
    class OwnError(ValueError):
        __str__ = ran("str")
        __repr__ = ran("repr")

    RAN.clear()
    assert message_of(OwnError("plain", 3)) == "plain, 3"
    assert message_of(OSError(2, "No such file", "x")) == "[Errno 2] No such file: 'x'"
    assert message_of(KeyError("k")) == "'k'"
    assert message_of(OwnError(OwnError())) == ""
    assert RAN == []
    assert sys.exc_info()[0] is None

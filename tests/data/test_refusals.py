"""What the sources of libraries refuse: how it is read from them, kept, and judged."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.catalogue.shared.conditions import GROUP, UNKNOWN, because, names_in, true, value_of, worded
from doctor.data.refusals import NO_DEFAULT, default, libraries, refusals, scopes

TOOLS = Path(__file__).resolve().parents[2] / "tools"


@pytest.fixture(autouse=True)
def _tools(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(TOOLS))
    yield
    for name in [each for each in sys.modules if each.partition(".")[0] == "refusals"]:
        del sys.modules[name]


def read(source: str, name: str = "C", **more: Any) -> list[Any]:
    """Conditions of a class."""
    from refusals.classes import Release

    return [condition for condition, _, _ in Release({"m.py": source}, **more).of_class(name)]


def lookup(**settings: Any) -> Any:
    return lambda name, with_default: settings.get(name, UNKNOWN if with_default else None)


CLASS = "class C:\n    a: int = 1\n    b: str = None\n    def __post_init__(self):\n"


def of(*lines: str) -> list[Any]:
    return read(CLASS + "".join(f"        {line}\n" for line in lines))


def test_condition_of_a_raise_is_that_of_its_branches() -> None:
    assert of("if self.a > 2:", "    if self.b is None:", "        raise ValueError('x')") == [
        ["and", [">", ["n", "a"], 2], ["is", ["n", "b"], None]]
    ]
    assert of("assert self.a % 2 == 0, 'even'") == [["!=", ["%", ["n", "a"], 2], 0]]


def test_setting_that_was_changed_before_is_followed() -> None:
    made = of("if self.b is None:", "    self.b = 'x'", "if self.b == 'y':", "    raise ValueError")
    assert len(made) == 1
    for value, holds in ((None, False), ("y", True), ("z", False)):
        assert value_of(made[0], lookup(b=value)) is holds


def test_what_nobody_can_tell_makes_no_condition() -> None:
    assert of("if torch.cuda.is_available() and self.a:", "    raise ValueError") == []
    assert of("if torch.cuda.is_available() or self.a:", "    raise ValueError") == [["n", "a"]]
    assert of("self.a = ask()", "if self.a:", "    raise ValueError") == []
    assert of("helper(self)", "if self.a:", "    raise ValueError") == []  # it may change anything
    assert of("try:", "    raise ValueError", "except ValueError:", "    pass") == []


def test_return_keeps_what_follows_from_where_it_was_taken() -> None:
    made = of("if self.a:", "    if self.b:", "        return", "if self.a == 3:", "    raise ValueError")
    assert [value_of(made[0], lookup(a=3, b=b)) for b in ("x", None)] == [False, True]


def test_function_that_returns_early_leaves_two_ways() -> None:
    source = CLASS + "        self.fill()\n        if self.b == 'x':\n            raise ValueError\n"
    source += "    def fill(self):\n        if self.a != 7:\n            return\n        self.b = 'x'\n"
    made = read(source)
    assert [value_of(made[0], lookup(a=a, b="y")) for a in (7, 1)] == [True, False]


def test_base_of_this_package_is_followed_and_one_of_another_is_not() -> None:
    source = "class B:\n    c: int = 0\n    def __post_init__(self):\n        self.a = 5\n" + CLASS.replace(
        "class C", "class C(B)"
    )
    source += "        super().__post_init__()\n        if self.a == 5 and self.b:\n            raise ValueError\n"
    assert read(source) == [["n", "b"]]
    other = CLASS.replace("class C", "class C(Other)") + "        super().__post_init__()\n        assert not self.a\n"
    assert read(other) == [["n", "a"]]
    assert read(other, altered=["a"]) == []


VALIDATORS = """
class C(BaseModel):
    a: int = 1
    @model_validator(mode="before")
    @classmethod
    def early(cls, data):
        if data.get("a") and not data.get("b"):
            raise ValueError
        return data
    @model_validator(mode="after")
    def late(self):
        if self.a > 3:
            raise ValueError
        return self
"""


def test_validators_of_pydantic_see_what_was_written_or_the_fields() -> None:
    assert read(VALIDATORS) == [["and", ["g", "a", None], ["not", ["g", "b", None]]], [">", ["n", "a"], 3]]


def test_members_of_enumerations_are_their_texts_or_names() -> None:
    source = "class E(Enum):\n    NO = 'no'\n" + CLASS + "        if self.b == E.NO:\n            raise ValueError\n"
    assert read(source) == [["==", ["n", "b"], "no"]]
    assert read(source, enums="names") == [["==", ["n", "b"], "NO"]]


def test_loop_over_names_is_unrolled_unless_it_jumps() -> None:
    assert of("for name in ('a', 'b'):", "    if getattr(self, name) == 4:", "        raise ValueError") == [
        ["==", ["n", "a"], 4], ["==", ["n", "b"], 4]
    ]  # fmt: skip
    assert of("for name in ('a', 'b'):", "    if name: continue", "    raise ValueError(self.a)") == []


def test_argparse_gives_defaults_and_the_program_conditions() -> None:
    from refusals.classes import module_of

    text = "p.add_argument('--n-samples', type=int, default=1)\np.add_argument('--fast', action='store_true')\n"
    assert module_of("x.py", text).arguments == {"n_samples": 1, "fast": False}


@pytest.mark.parametrize(("expr", "settings", "value"), [
    (["and", ["n", "a"], ["n", "b"]], {"a": False}, False),
    (["and", ["n", "a"], ["n", "b"]], {"a": True}, UNKNOWN),
    (["or", ["n", "a"], ["n", "b"]], {"b": True}, True),
    (["==", ["n", "a"], None], {"a": "none"}, UNKNOWN),
    (["is", ["n", "a"], None], {"a": GROUP}, False),
    (["==", ["n", "a"], 4], {"a": "4"}, True),
    (["==", ["n", "a"], "no"], {"a": False}, UNKNOWN),  # `no` of YAML
    (["not in", ["n", "a"], ["l", "x", "y"]], {"a": "X"}, UNKNOWN),
    (["%", ["n", "a"], ["n", "b"]], {"a": 4, "b": 0}, UNKNOWN),
    (["isa", ["n", "a"], ["l", "int"]], {"a": 0.1}, False),
    (["isa", ["n", "a"], ["l", "int"]], {"a": "5"}, UNKNOWN),
    (["count", ["n", "a"], ["n", "b"]], {"a": 1, "b": 0}, 1),
    (["g", "a", 3], {}, 3),
    (["s", "a"], {}, UNKNOWN),
    (["if", ["n", "a"], ["n", "b"], 2], {"a": 0}, 2),
])  # fmt: skip
def test_three_answers(expr: Any, settings: dict[str, Any], value: Any) -> None:
    assert value_of(expr, lookup(**settings)) is value or value_of(expr, lookup(**settings)) == value


def test_words_are_those_of_the_ways_that_were_taken() -> None:
    expr = ["and", ["or", ["n", "x"], ["n", "a"]], [">", ["if", ["is", ["n", "b"], None], ["n", "c"], ["n", "d"]], 3]]
    here = lookup(a=True, b=None, c=5, x=False)
    assert [worded(each) for each in because(expr, here)] == ["a", "(c > 3)"]
    assert ast.parse(worded(expr))
    assert sorted(set(names_in(expr))) == ["a", "b", "c", "d", "x"]


@pytest.mark.parametrize("library", libraries())
def test_every_shipped_condition_can_be_judged(library: str) -> None:
    """A form that the judge does not know would be silently unknown for ever."""
    from doctor.data.refusals import _load

    versions = _load(library)["versions"]
    known = {
        "n", "g", "s", "l", "and", "or", "not", "if", "count", "isa", "==", "!=", "<", "<=", ">", ">=", "in", "not in",
        "is", "is not", "+", "-", "*", "/", "//", "%", "len", "int", "float", "bool", "max", "min", "abs", "round",
        "lower", "upper", "startswith", "endswith", "split",
    }  # fmt: skip
    seen = 0
    for scope in scopes(library):
        for version in {versions[0], versions[len(versions) // 2], versions[-1]}:
            for each in refusals(library, scope, version):
                seen += 1
                assert {part[0] for part in parts_of(each.condition)} <= known
                assert true(value_of(each.condition, lookup())) in (UNKNOWN, True, False)
                assert list(names_in(each.condition))
    assert seen


def parts_of(expr: Any) -> Iterator[Any]:
    if isinstance(expr, list):
        yield expr
        for part in expr[1:] if expr[0] not in ("l", "isa") else expr[1:2]:
            yield from parts_of(part)


def test_release_between_two_needs_both_of_them() -> None:
    places = {version: [each.place for each in refusals("llamafactory", "", version)] for version in ("0.9.2", "0.9.3")}
    between = [each.place for each in refusals("llamafactory", "", "0.9.3.dev0")]
    assert set(between) == set(places["0.9.2"]) & set(places["0.9.3"])
    assert not list(refusals("llamafactory", "", "0.0.1"))
    assert not list(refusals("llamafactory", "", "99"))


def test_default_is_that_of_the_release() -> None:
    assert default("slime", "", "0.3.0", "advantage_estimator") == "grpo"
    assert default("slime", "", "0.3.0", "no_such_setting") is NO_DEFAULT


def test_source_of_a_newer_python_is_read_all_the_same() -> None:
    """A release that could not be read would count as one that lacks all of its names."""
    from newpython import parse

    tree = parse("def f[T](x: T) -> T:\n    return x\ntype A = int\nclass C[T](B):\n    a: int = 1\n", "m.py")
    assert [type(each).__name__ for each in tree.body] == ["FunctionDef", "Assign", "ClassDef"]
    with pytest.raises(SyntaxError):
        parse("def f(:\n", "m.py")


def test_parameters_of_a_models_configuration_are_its_settings() -> None:
    from refusals.classes import Release

    source = (
        "class C(P):\n    model_type = 'x'\n    def __init__(self, a=4, rope=None, **kwargs):\n        self.a = a\n"
    )
    source += "        self.rope = rope\n        self.check()\n        super().__init__(**kwargs)\n"
    source += (
        "    def check(self):\n        if self.rope is None:\n            return\n        assert self.a % 2 == 0\n"
    )
    (defaults, rules) = Release({"m.py": source}).of_model_types()["x"]
    assert defaults == {"a": 4, "rope": None}
    assert [value_of(rules[0][0], lookup(a=3, rope=rope)) for rope in (None, 1)] == [False, True]

"""Judges conditions that are data, with three answers: they hold, they do not, nobody can tell.

`["n", name]` is a setting, `["g", name, default]` one that is looked up without the default of its class, `["s", name]`
one that counts only where it is written, `["l", ...]` a list; `["and", ...]`, `["or", ...]`, `["not", x]`,
`["if", condition, then, otherwise]`, `["count", ...]` how many of several are true, `["isa", x, ["l", ...]]` its kind;
comparisons, arithmetic and a few functions by their Python names.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from doctor.catalogue.settings import number

Lookup = Callable[[str, bool], Any]


class _Mark:
    """A value that is no value."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __bool__(self) -> bool:
        return False


#: nobody can tell; a group of settings that is there
UNKNOWN, GROUP = _Mark("unknown"), _Mark("group")
_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod,
}  # fmt: skip
_OF_NUMBERS: Mapping[str, Callable[..., Any]] = {
    "int": int, "float": float, "abs": abs, "round": round, "max": max, "min": min,
}  # fmt: skip
_OF_TEXTS = frozenset({"lower", "upper", "startswith", "endswith", "split"})
_KINDS = {"int": int, "float": float, "str": str, "bool": bool, "list": list, "tuple": list}
#: text that may stand for a value of another kind
_NOT_AS_WRITTEN = frozenset({"true", "false", "none", "null", "yes", "no", "on", "off"})


def value_of(expr: Any, lookup: Lookup) -> Any:
    """The value of an expression, `UNKNOWN` where a part that decides it is.

    Args:
        expr: the expression.
        lookup: value of a setting, given its name and whether the default of its class counts; `UNKNOWN`, or `GROUP`
            for a group of settings.

    """
    if not isinstance(expr, list):
        return expr
    head, parts = expr[0], expr[1:]
    if head == "n":
        return lookup(parts[0], True)
    if head == "g":
        found = lookup(parts[0], False)
        return parts[1] if found is None else found
    if head == "s":
        found = lookup(parts[0], False)
        return UNKNOWN if found is None else found
    if head == "l":
        return [value_of(each, lookup) for each in parts]
    if head in ("and", "or"):
        return _joined(head, parts, lookup)
    if head == "if":
        condition = true(value_of(parts[0], lookup))
        return UNKNOWN if condition is UNKNOWN else value_of(parts[1 if condition else 2], lookup)
    return _computed(head, [value_of(each, lookup) for each in parts])


def true(value: Any) -> Any:
    """Whether Python takes a value as true; `UNKNOWN` for text that may mean another value."""
    if value is UNKNOWN:
        return UNKNOWN
    if value is GROUP:
        return True
    if isinstance(value, str) and value.lower() in _NOT_AS_WRITTEN:
        return UNKNOWN
    return bool(value)


def _joined(head: str, parts: list[Any], lookup: Lookup) -> Any:
    """As Python does: the operand that decides; an unknown one does not hide a later one that decides."""
    found, value = False, None
    for part in parts:
        value = value_of(part, lookup)
        holds = true(value)
        if holds is UNKNOWN:
            found = True
        elif holds is (head == "or"):
            return value if not found else holds
    return UNKNOWN if found else value


def _computed(head: str, values: list[Any]) -> Any:
    if head == "not":
        holds = true(values[0])
        return UNKNOWN if holds is UNKNOWN else not holds
    if head == "count":
        counted = [true(each) for each in values]
        return UNKNOWN if UNKNOWN in counted else sum(counted)
    if any(each is UNKNOWN for each in values):
        return UNKNOWN
    if head in ("==", "!=", "is", "is not", "in", "not in"):
        holds = (_within if head.endswith("in") else _same)(*values)
        return holds if holds is UNKNOWN or head in ("==", "is", "in") else not holds
    if head in _ORDER or head in _ARITHMETIC:
        return _of_two(head, *values)
    return _called(head, values)


def _same(left: Any, right: Any) -> Any:
    if left is GROUP or right is GROUP:
        return False if None in (left, right) else UNKNOWN
    if left is None or right is None:
        other = right if left is None else left
        return UNKNOWN if isinstance(other, str) and other.lower() in ("none", "null") else other is None
    if isinstance(left, bool) or isinstance(right, bool):
        return left == right if isinstance(left, (bool, int)) and isinstance(right, (bool, int)) else UNKNOWN
    if isinstance(left, str) and isinstance(right, str):
        return UNKNOWN if left != right and left.lower() == right.lower() else left == right
    one, other = number(left), number(right)
    if one is not None and other is not None:
        return one == other
    return left == right if type(left) is type(right) else UNKNOWN


def _within(part: Any, whole: Any) -> Any:
    if isinstance(whole, str) and isinstance(part, str):
        return part in whole
    if not isinstance(whole, list):
        return UNKNOWN
    found = [_same(part, each) for each in whole]
    return True if True in found else UNKNOWN if UNKNOWN in found else False


def _of_two(head: str, left: Any, right: Any) -> Any:
    one, other = _plain_number(left), _plain_number(right)
    if one is None or other is None or (head in ("/", "//", "%") and other == 0):
        return UNKNOWN
    return _ORDER[head](one, other) if head in _ORDER else _ARITHMETIC[head](one, other)


def _plain_number(value: Any) -> Any:
    """A number as it is, so that whole ones stay whole; text that reads as one."""
    if isinstance(value, (bool, int, float)):
        return value
    found = number(value) if isinstance(value, str) else None
    return int(found) if found is not None and found.is_integer() and "." not in str(value) else found


def _called(head: str, values: list[Any]) -> Any:
    first = values[0]
    if head == "isa":
        return _is_a(first, values[1])
    if head == "bool":
        return true(first)
    if head == "len":
        return len(first) if isinstance(first, list) else UNKNOWN
    if head in _OF_NUMBERS:
        numbers = [_plain_number(each) for each in values]
        return UNKNOWN if None in numbers else _OF_NUMBERS[head](*numbers)
    if head in _OF_TEXTS and all(isinstance(each, str) for each in values):
        return getattr(first, head)(*values[1:])
    return UNKNOWN


def _is_a(value: Any, kinds: list[str]) -> Any:
    """Whether a value is of one of several kinds; text may be read as another one."""
    if value is GROUP:
        return "dict" in kinds
    if isinstance(value, str) and "str" not in kinds:
        return UNKNOWN
    return any(isinstance(value, _KINDS[each]) for each in kinds if each in _KINDS)


def because(expr: Any, lookup: Lookup) -> Iterator[Any]:
    """Of an expression that holds, the parts that make it hold, without the ways that were not taken."""
    if isinstance(expr, list) and expr[0] == "and":
        for part in expr[1:]:
            yield from because(part, lookup)
    elif isinstance(expr, list) and expr[0] == "or":
        yield from because(next(part for part in expr[1:] if true(value_of(part, lookup)) is True), lookup)
    elif isinstance(expr, list) and expr[0] == "if":
        holds = true(value_of(expr[1], lookup))
        yield from because(expr[1] if holds else ["not", expr[1]], lookup)
        yield from because(expr[2 if holds else 3], lookup)
    elif isinstance(expr, list):
        yield _decided(expr, lookup)


def _decided(expr: Any, lookup: Lookup) -> Any:
    """The same with each choice in it replaced by what was chosen."""
    if not isinstance(expr, list) or expr[0] in ("n", "g", "s", "l"):
        return expr
    if expr[0] == "if":
        holds = true(value_of(expr[1], lookup))
        return expr if holds is UNKNOWN else _decided(expr[2 if holds else 3], lookup)
    return [expr[0], *(_decided(part, lookup) for part in expr[1:])]


def names_in(expr: Any) -> Iterator[str]:
    """Settings that an expression asks for."""
    if isinstance(expr, list):
        if expr[0] in ("n", "g", "s"):
            yield expr[1]
        for part in expr[1:]:
            yield from names_in(part)


def worded(expr: Any) -> str:
    """An expression as Python writes it."""
    if not isinstance(expr, list):
        return repr(expr)
    head, parts = expr[0], expr[1:]
    if head in ("n", "g", "s"):
        return {"world.processes": "number of processes"}.get(parts[0], str(parts[0]))
    if head == "l":
        return f"[{', '.join(map(worded, parts))}]"
    if head == "not":
        return f"not {worded(parts[0])}"
    if head in ("and", "or", "in", "is") or (len(parts) == 2 and not head.isidentifier()):
        return f"({f' {head} '.join(map(worded, parts))})"
    if head == "isa":
        return f"isinstance({worded(parts[0])}, {' | '.join(parts[1][1:])})"
    if head == "if":
        return f"({worded(parts[1])} if {worded(parts[0])} else {worded(parts[2])})"
    return f"{'sum' if head == 'count' else head}({', '.join(map(worded, parts))})"

"""Conditions as data: nested lists that JSON holds, simplified until nothing unknown is left in them.

`["n", name]` a setting, `["g", name, default]` one that is looked up without the default of its class, `["s", name]`
one that counts only where it was written, `["l", ...]` a list, `["?"]` what nobody can tell before the program runs;
`["and", ...]`, `["or", ...]`, `["not", x]`, `["if", condition, then, otherwise]`, comparisons, arithmetic and a few
functions by their names. Anything else is a constant.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Expr = Any
UNKNOWN: Expr = ["?"]
#: longer conditions are given up: nobody could read them
LARGEST = 1600
COMPARISONS = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "in": "not in", "not in": "in",
               "is": "is not", "is not": "is"}  # fmt: skip


def unknown(*parts: Expr) -> bool:
    """Whether any of these is not known."""
    return any(part == UNKNOWN for part in parts)


def constant(expr: Expr) -> bool:
    """Whether it is a plain value."""
    return not isinstance(expr, list)


def operation(name: str, *parts: Expr) -> Expr:
    """An operation that needs all of its parts."""
    return UNKNOWN if unknown(*parts) else [name, *parts]


def either(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """A value that hangs on a condition."""
    if then == otherwise:
        return then
    if constant(condition):
        return then if condition else otherwise
    made = ["if", condition, then, otherwise]
    return made if len(json.dumps(made)) < LARGEST else UNKNOWN


def surely(expr: Expr, holds: bool = True) -> Expr | None:
    """What is enough for an expression to be true (or false), without anything unknown; None where nothing is.

    True and False are answers, too: it always is, it never is.
    """
    if constant(expr):
        return bool(expr) is holds
    head = expr[0]
    if head == "?":
        return None
    if head == "not":
        return surely(expr[1], not holds)
    if head in ("and", "or"):
        return _joined(expr, holds)
    if head == "if":
        condition, then, otherwise = expr[1:]
        ways = [_all(surely(condition), surely(then, holds)), _all(surely(condition, False), surely(otherwise, holds))]
        return _any(*ways)
    if any(part == UNKNOWN for part in walk(expr)):
        return None
    if head in COMPARISONS:
        return expr if holds else [COMPARISONS[head], *expr[1:]]
    return expr if holds else ["not", expr]


def _joined(expr: Expr, holds: bool) -> Expr | None:
    parts = [surely(part, holds) for part in expr[1:]]
    return _all(*parts) if (expr[0] == "and") is holds else _any(*parts)


def _all(*parts: Expr | None) -> Expr | None:
    if any(part is False for part in parts):
        return False
    if any(part is None for part in parts):
        return None
    kept = _flat("and", parts)
    return True if not kept else kept[0] if len(kept) == 1 else ["and", *kept]


def _any(*parts: Expr | None) -> Expr | None:
    if any(part is True for part in parts):
        return True
    kept = _flat("or", [part for part in parts if part is not None])
    if kept:
        return kept[0] if len(kept) == 1 else ["or", *kept]
    return None if any(part is None for part in parts) else False


def _flat(head: str, parts: Any) -> list[Expr]:
    kept: list[Expr] = []
    for part in parts:
        if isinstance(part, bool):
            continue
        for each in part[1:] if isinstance(part, list) and part[0] == head else [part]:
            if each not in kept:
                kept.append(each)
    return kept


def walk(expr: Expr) -> Iterator[Expr]:
    """An expression and all of its parts."""
    yield expr
    if isinstance(expr, list):
        for part in expr[1:]:
            yield from walk(part)


def names(expr: Expr) -> list[str]:
    """Settings that an expression asks for."""
    return sorted({part[1] for part in walk(expr) if isinstance(part, list) and part[0] in ("n", "g", "s")})

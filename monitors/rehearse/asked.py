"""What a reward function asks of the columns that it is handed, as its own source says it, and what it holds itself."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

_READS = ("get", "pop")
#: different answers that a list must hold to be one of right answers (fewer are options), and how many are looked at
_LEAST_HELD, _LOOKED_FOR, _MOST_HELD = 8, 64, 1 << 16


def asked(function: Any) -> set[str]:
    """Names of columns that a function can do without: optional parameters, and what it looks up in `**columns`.

    What is looked up by a name that is no literal is not seen; neither is what a function without source asks.
    """
    inner = inspect.unwrap(function) if callable(function) else function
    inner = getattr(inner, "func", None) or inner
    if not inspect.isroutine(inner):
        inner = getattr(type(inner), "__call__", inner)  # noqa: B004 - the function itself
    try:
        parameters = inspect.signature(inner).parameters.values()
        tree = ast.parse(textwrap.dedent(inspect.getsource(inner)))
    except (TypeError, ValueError, OSError, SyntaxError):
        return set()
    optional = {each.name for each in parameters if each.default is not each.empty}
    rest = next((each.name for each in parameters if each.kind is each.VAR_KEYWORD), None)
    return optional | (set(_looked_up(tree, rest)) if rest else set())


def _looked_up(tree: ast.AST, rest: str) -> Iterator[str]:
    """Literal keys of a dictionary by its name: `rest["key"]`, `rest.get("key")`."""
    for each in ast.walk(tree):
        key: Any = None
        if isinstance(each, ast.Subscript) and _is(each.value, rest):
            key = each.slice
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and _is(each.func.value, rest):
            key = each.args[0] if each.func.attr in _READS and each.args else None
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def names_of(code: Any) -> list[str]:
    """Global names of a function and of the comprehensions inside of it."""
    inner = (name for each in code.co_consts if hasattr(each, "co_names") for name in names_of(each))
    return [*code.co_names, *inner]


def holds(function: Any, values: Sequence[Any]) -> bool:
    """Whether a function has all these answers in a list or a table of its own, beside the rows it is given.

    Args:
        function: of the user's.
        values: right answers of the data.

    """
    wanted = {each for each in values if isinstance(each, (str, int, float))}
    return len(wanted) >= _LEAST_HELD and any(wanted <= _answers_in(each) for _, each in held_of(function))


def held_of(function: Any) -> list[tuple[str, Any]]:
    """Global and enclosed objects that a function names; none of one that is not written in Python."""
    inner = inspect.unwrap(function) if callable(function) else function
    inner = getattr(inner, "func", None) or getattr(inner, "__func__", None) or inner
    code = getattr(inner, "__code__", None)
    if code is None:
        return []
    around = getattr(inner, "__globals__", {})
    held = [(name, around.get(name)) for name in names_of(code)]
    for name, cell in zip(code.co_freevars, getattr(inner, "__closure__", None) or ()):  # noqa: B905 - Python 3.9
        with suppress(ValueError):  # not filled yet
            held.append((name, cell.cell_contents))
    return held


def answers_of(data: Any, column: str) -> Sequence[Any]:
    """The first entries of a dataset's column; none where the data is no table, or lacks it."""
    with suppress(Exception):  # whatever an object of the user's raises
        few = data.select(range(min(len(data), _LOOKED_FOR))).select_columns([column])
        return list(few[column])
    return ()


def _answers_in(value: Any) -> set[Any]:
    """The first entries of a table or of what is read by place, those that can be answers; empty of anything else."""
    found: set[Any] = set()
    if isinstance(value, (str, bytes, type)) or not hasattr(type(value), "__getitem__"):
        return found
    with suppress(Exception):  # whatever an object of the user's raises
        entries = value.values() if isinstance(value, Mapping) else value if hasattr(type(value), "__len__") else ()
        found |= {each for each in itertools.islice(entries, _MOST_HELD) if isinstance(each, (str, int, float))}
    return found

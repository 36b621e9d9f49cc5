"""What a reward function asks of the columns that it is handed, as its own source says it."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

_READS = ("get", "pop")


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

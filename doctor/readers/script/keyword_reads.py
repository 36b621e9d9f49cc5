"""Keys that a function takes from its `**kwargs`: whenever it is called, or with nothing for those that are absent."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from doctor.readers.script.ast_scopes import FunctionNode

#: what may not be run, or not to its end
_MAYBE = (ast.If, ast.IfExp, ast.BoolOp, ast.Try, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def keys_demanded(node: FunctionNode | ast.Lambda) -> tuple[str, ...]:
    """Names in `kwargs["name"]` that no branch guards; none where the function does anything else with `kwargs`."""
    if node.args.kwarg is None or isinstance(node, ast.Lambda):
        return ()
    name = node.args.kwarg.arg
    used = [each for statement in node.body for each in ast.walk(statement)]
    mentions = sum(isinstance(each, ast.Name) and each.id == name for each in used)
    if mentions != sum(_key(each, name) is not None for each in used):
        return ()
    found: dict[str, None] = {}
    for statement in node.body:
        if isinstance(statement, _MAYBE):
            if any(isinstance(each, (ast.Return, ast.Raise)) for each in ast.walk(statement)):
                break  # what follows may not be reached
            continue
        found.update(dict.fromkeys(key for each in _run(statement) if (key := _key(each, name)) is not None))
        if any(isinstance(each, (ast.Return, ast.Raise)) for each in ast.walk(statement)):
            break
    return tuple(found)


def keys_asked(node: FunctionNode | ast.Lambda) -> tuple[str, ...]:
    """Names in `kwargs.get("name")` without a default that says something; none if `kwargs` is used in other ways."""
    if node.args.kwarg is None or isinstance(node, ast.Lambda):
        return ()
    name = node.args.kwarg.arg
    used = [each for statement in node.body for each in ast.walk(statement)]
    calls = [each for each in used if isinstance(each, ast.Call) and _asked(each, name) is not None]
    mentions = sum(isinstance(each, ast.Name) and each.id == name for each in used)
    keys = (_asked(each, name) for each in calls if all(map(_is_nothing, each.args[1:])))
    return tuple(dict.fromkeys(key for key in keys if key)) if mentions == len(calls) else ()


def _is_nothing(default: ast.expr) -> bool:
    """`None`, `[]`, `""`: no setting that a function may work with."""
    if isinstance(default, (ast.List, ast.Tuple)):
        return not default.elts
    return isinstance(default, ast.Constant) and default.value in {None, ""}


def _asked(node: ast.Call, name: str) -> str | None:
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "get":
        return None
    base, key = node.func.value, node.args[0] if node.args else None
    if not isinstance(base, ast.Name) or base.id != name or not isinstance(key, ast.Constant):
        return None
    return key.value if isinstance(key.value, str) else None


def _run(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what is below it, without what may not be run."""
    yield node
    for each in ast.iter_child_nodes(node):
        if not isinstance(each, _MAYBE):
            yield from _run(each)


def _key(node: ast.AST, name: str) -> str | None:
    """The constant key of `name["key"]`, where it is read."""
    if not (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name)):
        return None
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return key if node.value.id == name and isinstance(key, str) else None

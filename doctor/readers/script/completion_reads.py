"""How a reward function reads each completion: its length, as text, or as a list of messages; only where that is plain.

TRL gives text for prompts that are text, and lists of messages for conversations
(https://huggingface.co/docs/trl/grpo_trainer#using-a-custom-reward-function).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from doctor.readers.script.ast_scopes import FunctionNode

LENGTH, TEXT, MESSAGE = "length", "text", "message"

_PARAMETER = "completions"
#: methods that text has and lists have not
_OF_TEXT = frozenset({
    "lower", "upper", "strip", "lstrip", "rstrip", "split", "splitlines", "startswith", "endswith", "replace", "find",
    "rfind", "encode", "isdigit", "casefold", "removeprefix", "removesuffix", "partition", "rpartition",
})  # fmt: skip
#: functions of `re` that take the text at this position
_PATTERNS = {"search": 1, "match": 1, "fullmatch": 1, "findall": 1, "finditer": 1, "split": 1, "sub": 2}
_Binder = (ast.For, ast.AsyncFor, ast.comprehension)


def reads_of(function: FunctionNode | ast.Lambda) -> tuple[str, ...]:
    """Kinds of use in a function with a parameter `completions`, in order; () where it looks at the form itself.

    A function that asks `isinstance`, or that gives the names another value, may take both forms.
    """
    named = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    if _PARAMETER not in {each.arg for each in named}:
        return ()
    body = function.body if isinstance(function.body, list) else [function.body]
    nodes = [node for statement in body for node in ast.walk(statement)]
    bound = [each for node in nodes if isinstance(node, _Binder) if (each := _item_of(node)) is not None]
    items = set(bound)
    if _asks_for_form(nodes) or _rebinds(nodes, items | {_PARAMETER}, len(bound)):
        return ()
    found = dict.fromkeys(kind for node in nodes if (kind := _kind(node, items)) is not None)
    return tuple(found)


def _item_of(node: ast.For | ast.AsyncFor | ast.comprehension) -> str | None:
    """Name that stands for one completion: of `for c in completions`, `for c, a in zip(completions, ...)`."""
    iterated: ast.expr = node.iter
    target: ast.expr = node.target
    if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name) and isinstance(target, ast.Tuple):
        name = iterated.func.id
        if name == "enumerate" and len(target.elts) == 2 and iterated.args:
            iterated, target = iterated.args[0], target.elts[1]
        elif name == "zip" and len(target.elts) == len(iterated.args):
            places = [at for at, each in enumerate(iterated.args) if _is_name(each, {_PARAMETER})]
            if len(places) != 1:
                return None
            iterated, target = iterated.args[places[0]], target.elts[places[0]]
    return target.id if isinstance(target, ast.Name) and _is_name(iterated, {_PARAMETER}) else None


def _kind(node: ast.AST, items: set[str]) -> str | None:
    if isinstance(node, ast.Subscript):
        return MESSAGE if _is_message(node, items) else None
    if not isinstance(node, ast.Call):
        return None
    function = node.func
    if isinstance(function, ast.Name):
        counted = function.id == "len" and len(node.args) == 1 and _is_item(node.args[0], items)
        mapped = function.id == "map" and len(node.args) == 2 and _is_name(node.args[0], {"len"})
        return LENGTH if counted or (mapped and _is_name(node.args[1], {_PARAMETER})) else None
    if isinstance(function, ast.Attribute):
        if function.attr in _OF_TEXT and _is_item(function.value, items):
            return TEXT
        at = _PATTERNS.get(function.attr)
        ours = at is not None and _is_name(function.value, {"re", "regex"}) and len(node.args) > at
        return TEXT if ours and _is_item(node.args[at or 0], items) else None
    return None


def _is_message(node: ast.Subscript, items: set[str]) -> bool:
    """`c[0]["content"]`."""
    inner = node.value
    return (
        isinstance(node.slice, ast.Constant)
        and node.slice.value in ("content", "role")
        and isinstance(inner, ast.Subscript)
        and isinstance(inner.slice, (ast.Constant, ast.UnaryOp))
        and _is_item(inner.value, items)
    )


def _is_item(node: ast.AST, items: set[str]) -> bool:
    """A name for one completion, or `completions[i]`."""
    if isinstance(node, ast.Subscript) and _is_name(node.value, {_PARAMETER}):
        return not isinstance(node.slice, ast.Slice)
    return _is_name(node, items)


def _is_name(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _asks_for_form(nodes: list[ast.AST]) -> bool:
    called = (node.func for node in nodes if isinstance(node, ast.Call))
    asked = any(isinstance(each, ast.Name) and each.id in {"isinstance", "type", "hasattr"} for each in called)
    return asked or any(isinstance(node, ast.Try) for node in nodes)


def _rebinds(nodes: list[ast.AST], names: set[str], binders: int) -> bool:
    """Whether a name gets a value besides those that loops over the completions give it."""
    stored = [node for node in _stores(nodes) if node.id in names]
    return len(stored) != binders


def _stores(nodes: list[ast.AST]) -> Iterator[ast.Name]:
    return (node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))

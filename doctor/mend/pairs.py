"""Names with their values, where an edit may find them: in a tree of Python, and between the nodes of a YAML file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Pair:
    """A name with its value: where it begins, the value, the statement if it is one, whether its block has no other."""

    name: str
    first: ast.AST
    value: ast.expr
    whole: ast.stmt | None = None
    alone: bool = False


def python_pairs(tree: ast.Module) -> Iterator[Pair]:
    """Keyword arguments, items of dictionaries, assignments to items."""
    alone = {id(body[0]) for node in ast.walk(tree) for body in _bodies(node) if len(body) == 1}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from (Pair(each.arg, each, each.value) for each in node.keywords if each.arg)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant):
                    yield Pair(str(key.value), key, value)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
            index = node.targets[0].slice
            if isinstance(index, ast.Constant):
                for first in (node, index):
                    yield Pair(str(index.value), first, node.value, node, alone=id(node) in alone)


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    if isinstance(node, ast.Module):
        return
    for name in ("body", "orelse", "finalbody"):
        body = getattr(node, name, None)
        if isinstance(body, list):
            yield body


def yaml_pairs(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every key with its value, at any depth."""
    if node is None or isinstance(node.value, str):
        return
    for each in node.value:
        if isinstance(each, tuple):
            yield each
            yield from yaml_pairs(each[1])
        else:
            yield from yaml_pairs(each)

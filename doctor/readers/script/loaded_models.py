"""Names of the models that a script loads, by which what holds for one family of models is told."""

from __future__ import annotations

import ast
import re

_NAMES = frozenset({"model_name", "pretrained_model_name_or_path", "model_name_or_path", "model"})


def loads_one_of(tree: ast.Module, text: str, pattern: re.Pattern[str]) -> bool:
    """Whether a model whose name meets a pattern is loaded; where no name is plain, whether the text mentions one.

    Notebooks list the models that they could load, and mention others in passing.
    """
    names = _names(tree)
    return any(map(pattern.search, names)) if names else pattern.search(text) is not None


def _names(tree: ast.Module) -> set[str]:
    given: list[ast.expr] = []
    bound: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "from_pretrained":
            given += [*node.args[:1], *(each.value for each in node.keywords if each.arg in _NAMES)]
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    bound.setdefault(target.id, []).append(node.value)
    values: list[ast.expr] = []
    for each in given:
        values += bound.get(each.id, [each]) if isinstance(each, ast.Name) else [each]
    texts = [each.value for each in values if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return set(texts) if len(texts) == len(values) else set()

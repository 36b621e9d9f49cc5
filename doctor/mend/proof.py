"""What an edit did is held against what it was to do: a file then says what it said, but for what was asked for.

An anchor's value is another key's too, a key that stands twice comes back when the second is taken out, and a bracket
may stand around what is cut: texts in which one place is not one setting. Such an edit is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Asked:
    """What an edit is to do to one key of a YAML or JSON file.

    Args:
        name: path of names that leads to it, "" where it is new.
        becomes: the path afterwards, "" where it goes.
        value: what it says afterwards; None: what it said.

    """

    name: str
    becomes: str
    value: tuple[Any] | None = None


def as_asked(before: Any, after: Any, asked: Iterable[Asked]) -> bool:
    """Whether all that was asked for, and nothing else, lies between two documents."""
    expected = dict(_leaves(before))
    for each in asked:
        old = {name: expected.pop(name) for name in tuple(expected) if each.name and _within(name, each.name)}
        if each.value is not None:
            expected.update(_leaves(each.value[0], each.becomes))
        elif each.becomes:
            expected.update({each.becomes + name[len(each.name) :]: said for name, said in old.items()})
        outer = each.name.rpartition(".")[0]
        if outer and not any(_within(name, outer) for name in expected):
            expected[outer] = repr({})
    return expected == dict(_leaves(after))


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Path of names -> what it says, of all that holds nothing itself."""
    if not isinstance(value, (dict, list)) or not value:
        yield name, repr(value)
        return
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _leaves(each, f"{name}.{key}" if name else str(key))


def _within(name: str, outer: str) -> bool:
    return name == outer or name.startswith(f"{outer}.")


class Rewritten(ast.NodeTransformer):
    """A tree of Python with nodes replaced: id of a node -> those that stand there then, none where it goes."""

    def __init__(self, changes: Mapping[int, list[ast.AST]]) -> None:
        self._changes = changes

    def visit(self, node: ast.AST) -> Any:
        """The node, or what it becomes."""
        become = self._changes.get(id(node))
        if become is None:
            return self.generic_visit(node)
        if not become:
            return None
        made = [self.generic_visit(each) for each in become]
        return made if len(made) > 1 else made[0]


def as_rewritten(before: ast.Module, after: str, changes: Mapping[int, list[ast.AST]]) -> bool:
    """Whether a text is Python that says what a tree says with those changes."""
    try:
        tree = ast.parse(after)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return ast.dump(Rewritten(changes).visit(before)) == ast.dump(tree)

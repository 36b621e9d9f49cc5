"""Under which arguments a program of the user's ends by an assertion or an exception of its own."""

from __future__ import annotations

import ast
import json

from doctor.base.evidence import Place
from doctor.facts.script import OwnRefusal
from doctor.readers.script.follow import Code, FollowedState, Root, Walk
from doctor.readers.script.formulas import names

_MOST = 40
#: calls after which an argument is not what the command line says
_HIDING = frozenset({"set_defaults", "add_subparsers", "parse_known_args", "update", "parse_intermixed_args"})


def own_refusals(tree: ast.Module, path: str) -> tuple[OwnRefusal, ...]:
    """Follow a program whose arguments argparse parses, from its top; functions of the same file are followed, too.

    What nobody can tell before it runs makes no condition.
    """
    if not _parses_once(tree):
        return ()
    functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
    walk = Walk(Code(functions), path, Root())
    walk.follow(_as_program(tree.body), FollowedState())
    found = []
    for condition, _, place in walk.raised[:_MOST]:
        if names(condition):
            line = int(place.rpartition("#L")[2])
            found.append(OwnRefusal(json.dumps(condition), Place(path, line)))
    return tuple(found)


def _parses_once(tree: ast.Module) -> bool:
    """Whether one parser reads the command line, and nothing writes to what it gave behind its back."""
    parsers = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            parsers += name == "ArgumentParser"
            given = bool(node.args or node.keywords)
            if name in _HIDING or (name == "parse_args" and given):
                return False
        targets = node.targets if isinstance(node, ast.Assign) else ()
        if any("vars(" in (text := ast.unparse(each)) or "__dict__" in text for each in targets):
            return False
        if isinstance(node, ast.Assign) and _is_vars(node.value):
            return False
    return parsers == 1


def _is_vars(node: ast.expr) -> bool:
    """`vars(args)` itself, whose keys are written by whoever holds it; not a copy of it."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "vars"


def _as_program(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements in their order, with what stands under `if __name__ == "__main__"` in its place."""
    made: list[ast.stmt] = []
    for each in body:
        is_main = isinstance(each, ast.If) and "__name__" in ast.dump(each.test)
        made += each.body if is_main and isinstance(each, ast.If) else [each]
    return made

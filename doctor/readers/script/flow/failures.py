"""The idiom about rewards that an exception decides: an answer that breaks the check gets full points."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from doctor.base.patterns import later
from doctor.readers.script.flow.program import named
from doctor.readers.script.flow.seen import Met

_REWARDS = later(r"(?i)reward|score|accura|correct|grade")


def failures_rewarded(tree: ast.Module) -> Iterator[Met]:
    """A handler in a reward function that gives as many points as the best answer gets."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef) or not _is_reward(function):
            continue
        for block in ast.walk(function):
            if not isinstance(block, ast.Try):
                continue
            best = max((each for node in block.body for each in _given(node)), default=None)
            for handler in block.handlers:
                given = [each for node in handler.body for each in _given(node)]
                raises = any(isinstance(each, ast.Raise) for each in ast.walk(handler))
                if len(given) == 1 and best is not None and given[0] >= best > 0 and not raises:
                    yield Met("failure_rewarded", handler, {"function": function.name, "points": str(given[0])})
                    return


def _is_reward(function: ast.FunctionDef) -> bool:
    names = {each.arg for each in (*function.args.args, *function.args.kwonlyargs)}
    return _REWARDS.search(function.name) is not None and bool(names & {"completions", "completion", "solution_str"})


def _given(node: ast.AST) -> Iterator[float]:
    """Constants that a statement appends, returns or sets as a reward; what a check gives is one at most."""
    for each in ast.walk(node):
        value = _reward(each)
        for part in (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,):
            if isinstance(part, ast.Constant) and isinstance(part.value, (int, float)):
                yield float(part.value)
            elif isinstance(part, ast.Call) and named(part) in {"float", "int", "verify"}:
                yield 1.0


def _reward(node: ast.AST) -> ast.expr | None:
    """What a node appends, returns or sets as a reward."""
    if isinstance(node, ast.Call) and named(node) == "append" and len(node.args) == 1:
        return node.args[0]
    if isinstance(node, ast.Return):
        return node.value
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and _REWARDS.search(ast.unparse(node.targets[0])):
        return node.value
    return None

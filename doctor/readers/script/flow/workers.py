"""Idioms about code that runs in other processes: what does not come back from them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from doctor.readers.script.flow.program import named, text_of
from doctor.readers.script.flow.seen import Met, Script

_POOLS = ("ProcessPoolExecutor", "multiprocessing", "mp.", "Pool(", "joblib")
_MAPS = frozenset({"map", "imap", "imap_unordered", "starmap", "apply", "apply_async", "map_async", "submit"})
_WIDE = frozenset({"BaseException", "SystemExit"})


def in_workers(script: Script) -> Iterator[Met]:
    """All idioms of this file."""
    if not any(word in script.text for word in _POOLS):
        return
    yield from _not_unpickled(script)
    yield from _may_exit(script)


def _not_unpickled(script: Script) -> Iterator[Met]:
    """An exception that gives its base fewer arguments than it takes: it is rebuilt from those, and fails."""
    raised = {
        named(e.exc) for e in ast.walk(script.values.program.tree) if isinstance(e, ast.Raise) and e.exc is not None
    }
    for node in ast.walk(script.values.program.tree):
        if not isinstance(node, ast.ClassDef) or node.name not in raised or not any(map(_is_exception, node.bases)):
            continue
        methods = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
        made = methods.get("__init__")
        if made is None or {"__reduce__", "__reduce_ex__", "__getnewargs__"} & set(methods) or made.args.vararg:
            continue
        required = len(made.args.args) - 1 - len(made.args.defaults)
        given = [len(each.args) for each in ast.walk(made) if isinstance(each, ast.Call) and _is_super(each)]
        if len(given) == 1 and given[0] < required and _assigns_no_args(made):
            yield Met(
                "exception_not_unpickled", made, {"name": node.name, "required": str(required), "given": str(given[0])}
            )
            return


def _is_exception(node: ast.expr) -> bool:
    return text_of(node).rpartition(".")[2].endswith(("Exception", "Error"))


def _is_super(call: ast.Call) -> bool:
    return named(call) == "__init__" and "super" in ast.unparse(call.func)


def _assigns_no_args(function: ast.FunctionDef) -> bool:
    return not any(
        isinstance(e, ast.Attribute) and e.attr == "args" and isinstance(e.ctx, ast.Store) for e in ast.walk(function)
    )


def _may_exit(script: Script) -> Iterator[Met]:
    """Sampled code that a worker of a pool runs, and which may end the worker by `exit()`."""
    if "ProcessPoolExecutor" in script.text:
        return  # which notices that a worker has gone
    for call in script.values.program.calls:
        if named(call) not in _MAPS or not call.args or not isinstance(call.args[0], ast.Name):
            continue
        name = call.args[0].id
        function = next((f for (_, each), f in script.values.program.functions.items() if each == name), None)
        for block in ast.walk(function) if function is not None else ():
            if isinstance(block, ast.Try) and _runs_code(block) and not _catches_all(block):
                yield Met("sampled_code_may_exit", block, {"function": name})
                return


def _runs_code(block: ast.Try) -> bool:
    calls = [
        e for each in block.body for e in ast.walk(each) if isinstance(e, ast.Call) and isinstance(e.func, ast.Name)
    ]
    ran = [each for each in calls if named(each) in {"eval", "exec"}]
    return any(not any(isinstance(e, ast.Dict) and not e.keys for e in each.args) for each in ran)


def _catches_all(block: ast.Try) -> bool:
    for each in block.handlers:
        if each.type is None or any(
            isinstance(e, (ast.Name, ast.Attribute)) and named(e) in _WIDE for e in ast.walk(each.type)
        ):
            return True
    return False

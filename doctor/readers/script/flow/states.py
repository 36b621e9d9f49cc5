"""Idioms about what `state_dict()` gives: references to the weights that training goes on to change."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from doctor.readers.script.flow.program import Definition, named
from doctor.readers.script.flow.seen import Met, Script


def states_kept(script: Script) -> Iterator[Met]:
    """All idioms of this file."""
    program = script.values.program
    loops = {loop for call in program.calls if named(call) == "backward" for loop in _loops(script, call)}
    for (_, name), defined in program.definitions.items():
        kept = next((each for each in defined if _is_alias(each) and loops & set(each.step.loops)), None)
        if kept is None or not kept.step.branches:
            continue  # in every turn anew: the last weights are meant
        used = [call for call in program.calls if named(call) == "load_state_dict" and _is_given(call, name)]
        behind = [each for each in used if not set(_loops(script, each)) & loops]
        if behind and all(each.kind == "value" and not each.index for each in defined):
            yield Met("best_is_alias", kept.step.node, {"name": name})
            return


def _loops(script: Script, node: ast.AST) -> tuple[ast.AST, ...]:
    step = script.values.step(node)
    return step.loops if step is not None else ()


def _is_alias(definition: Definition) -> bool:
    """`model.state_dict()`, also behind what makes another dictionary of the same tensors."""
    value = definition.value
    while isinstance(value, ast.Call) and named(value) in {"dict", "copy", "OrderedDict"}:
        inner = value.args[0] if value.args else None
        method = value.func.value if isinstance(value.func, ast.Attribute) and not value.args else None
        value = inner if inner is not None else method
    return isinstance(value, ast.Call) and named(value) == "state_dict" and not definition.weak


def _is_given(call: ast.Call, name: str) -> bool:
    return bool(call.args) and isinstance(call.args[0], ast.Name) and call.args[0].id == name

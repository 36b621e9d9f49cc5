"""Idioms about the shapes of tensors that meet: vectors against tables, lengths that differ, the wrong axis."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from doctor.base.patterns import later
from doctor.readers.script.flow.axes import ONE, Axis, Shape, broadcast, written
from doctor.readers.script.flow.program import named
from doctor.readers.script.flow.seen import Met, Script
from doctor.readers.script.flow.shapes import ROWS, TOKENS, VOCABULARY, Shapes
from doctor.readers.script.flow.values import At

#: without one of these no tensor of the script has a shape that is known
_SHAPED = later(r"\.logits|[\"']logits[\"']|keepdim|log_softmax|\.view\(|\.reshape\(|last_hidden_state|hidden_states")
_OPERATIONS = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_LOSSES = frozenset({"mse_loss", "smooth_l1_loss", "l1_loss", "huber_loss", "binary_cross_entropy_with_logits"})
_SOFT = frozenset({"softmax", "log_softmax"})


def shapes_that_meet(script: Script) -> Iterator[Met]:
    """All idioms of this file."""
    if not _SHAPED.search(script.text):
        return
    shapes = Shapes(script.values, script.roles, script.text)
    for step in script.values.program.steps:
        if isinstance(step.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        for node in _expressions(step.node):
            if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATIONS):
                yield from _met(shapes, node, node.left, node.right)
            elif isinstance(node, ast.Call) and named(node) in _LOSSES and len(node.args) >= 2:
                yield from _met(shapes, node, node.args[0], node.args[1])
            elif isinstance(node, ast.Call) and named(node) in _SOFT:
                yield from _over_positions(shapes, node)


def _expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """Nodes of a statement without the statements in its blocks."""
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        yield node
        stack += [each for each in ast.iter_child_nodes(node) if not isinstance(each, (ast.stmt, ast.ExceptHandler))]


def _met(shapes: Shapes, node: ast.AST, left: ast.expr, right: ast.expr) -> Iterator[Met]:
    one, other = shapes.of(At(left)), shapes.of(At(right))
    if not one or not other:
        return
    holes = {
        "left": ast.unparse(left)[:60], "left_shape": written(one),
        "right": ast.unparse(right)[:60], "right_shape": written(other),
    }  # fmt: skip
    if _spreads(one, other) or _spreads(other, one):
        yield Met("column_meets_vector", node, holes)
    elif broadcast(one, other) is None and any(_differ(a, b) for a, b in zip(one[::-1], other[::-1])):  # noqa: B905
        yield Met("lengths_differ", node, holes)


def _spreads(table: Shape, vector: Shape) -> bool:
    """Whether a column that nobody asked for meets the vector that it should have been: (rows, 1) and (rows,)."""
    if len(table) != len(vector) + 1 or not table[-1].left or table[-1].name != ONE.name:
        return False
    ones = any(each.name == ONE.name for each in vector)
    if table[0].name != vector[0].name and all(each.root.startswith("[") for each in (table[0], vector[0])):
        return False  # two lists of the script's own: `[[x] for x in a]` beside `[y for y in b]` is a table of both
    return not ones and all(a.kind == b.kind and a.less == b.less for a, b in zip(table, vector))  # noqa: B905


def _differ(one: Axis, other: Axis) -> bool:
    """Whether two axes surely have other lengths, or the same by chance only."""
    if ONE.name in (one.name, other.name):
        return False
    if one.name == other.name:
        return one.less != other.less
    kinds = {one.kind, other.kind}
    if kinds == {"groups", "members"}:
        return one.root == other.root
    return kinds == {ROWS, TOKENS} or (VOCABULARY in kinds and TOKENS in kinds)


def _over_positions(shapes: Shapes, call: ast.Call) -> Iterator[Met]:
    """A softmax over the tokens of a sequence instead of over the vocabulary."""
    subject = call.args[0] if call.args else None
    if isinstance(call.func, ast.Attribute) and named(call.func.value) not in {"torch", "F", "functional"}:
        subject = call.func.value
    shape = shapes.of(At(subject)) if subject is not None else None
    place = _place(call, subject)
    if shape is None or place is None or shape[-1].name != VOCABULARY or not -len(shape) <= place < len(shape):
        return
    if shape[place].kind in (TOKENS, ROWS):
        yield Met("softmax_over_positions", call, {"call": ast.unparse(call)[:80], "axis": shape[place].kind})


def _place(call: ast.Call, subject: ast.expr | None) -> int | None:
    """The number of the axis that a softmax is asked for."""
    given = next((each.value for each in call.keywords if each.arg == "dim"), None)
    positional = call.args[1:] if subject in call.args else call.args
    given = given if given is not None else positional[0] if positional else None
    try:
        place = ast.literal_eval(given) if given is not None else None
    except ValueError:
        return None
    return place if isinstance(place, int) else None

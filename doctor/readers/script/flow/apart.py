"""Idioms about rows that are divided: among ranks, into sets, by a number that another order gave."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from doctor.readers.script.flow.program import named, text_of
from doctor.readers.script.flow.seen import Met, Script
from doctor.readers.script.flow.values import At

_REORDERS = frozenset({"shuffle", "sort", "select", "filter", "train_test_split"})


def rows_apart(script: Script) -> Iterator[Met]:
    """All idioms of this file."""
    yield from _filtered_shares(script)
    yield from _split_after_copies(script)
    yield from _index_of_another_order(script)
    yield from _masked_decoded(script)


def _filtered_shares(script: Script) -> Iterator[Met]:
    """A loader of rows that each rank cut out by its number and filtered then."""
    if (
        not any(word in script.text for word in ("DistributedDataParallel", "DDP(", "fully_shard"))
        or "Join(" in script.text
    ):
        return
    for call in script.values.program.calls:
        if named(call) != "DataLoader" or not call.args:
            continue
        nodes = list(script.values.made_of(call.args[0]))
        filters = [each for each in nodes if _filters(each.node)]
        for each in filters:
            inside = script.values.made_of(each.node, each.stack)
            if any(isinstance(at.node, ast.Subscript) and _is_share(at.node) for at in inside):
                yield Met("filtered_after_sharding", each.node)
                return


def _filters(node: ast.AST) -> bool:
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return any(each.ifs for each in node.generators)
    return isinstance(node, ast.Call) and named(node) == "filter"


def _is_share(node: ast.Subscript) -> bool:
    """`rows[rank::world_size]`."""
    part = node.slice
    return isinstance(part, ast.Slice) and part.step is not None and "rank" in ast.unparse(part).lower()


def _split_after_copies(script: Script) -> Iterator[Met]:
    """Rows that are copied first and divided then: copies of a row stand in both sets."""
    for call in script.values.program.calls:
        if named(call) != "train_test_split":
            continue
        base = call.func.value if isinstance(call.func, ast.Attribute) else None
        given = base if isinstance(base, (ast.Name, ast.Call)) else call.args[0] if call.args else None
        for each in script.values.made_of(given) if given is not None else ():
            if isinstance(each.node, ast.BinOp) and _copies(each.node) and not _is_number(script, each):
                yield Met("split_after_copies", call, {"copies": ast.unparse(each.node)})
                return


def _copies(node: ast.BinOp) -> bool:
    """`rows * 3`, of something that is called rows or makes them."""
    number = isinstance(node.right, ast.Constant) and isinstance(node.right.value, int) and node.right.value > 1
    name = text_of(node.left).rpartition(".")[2].lower()
    return (
        isinstance(node.op, ast.Mult)
        and number
        and any(w in name for w in ("row", "example", "data", "sample", "pair"))
    )


def _is_number(script: Script, at: At) -> bool:
    """Whether what is multiplied is a number, or is counted."""
    left = at.node.left if isinstance(at.node, ast.BinOp) else at.node
    return any(
        isinstance(e.node, ast.Constant) and isinstance(e.node.value, int)
        for e in script.values.held(At(left, at.stack))
    )


def _index_of_another_order(script: Script) -> Iterator[Met]:
    """A list that is read by a number which the rows got before they were put into the list's order."""
    numbered = {key: call for call in script.values.program.calls for key in _numbers(call)}
    for node in ast.walk(script.values.program.tree) if numbered else ():
        if (
            not isinstance(node, ast.Subscript)
            or not isinstance(node.slice, ast.Name)
            or not isinstance(node.value, ast.Name)
        ):
            continue
        key = _column(script, node.slice)
        if key not in numbered:
            continue
        for each in script.values.made_of(node.value):
            call = each.node
            if isinstance(call, ast.Call) and named(call) in _REORDERS and isinstance(call.func, ast.Attribute):
                inside = script.values.made_of(call.func.value, each.stack)
                if any(at.node is numbered[key] for at in inside):
                    yield Met(
                        "index_of_another_order", node, {"rows": node.value.id, "index": key, "order": named(call)}
                    )
                    return


def _numbers(call: ast.Call) -> Iterator[str]:
    """Columns into which `map(..., with_indices=True)` writes the number of a row."""
    if named(call) != "map" or not any(each.arg == "with_indices" for each in call.keywords) or not call.args:
        return
    made = call.args[0]
    if isinstance(made, ast.Lambda) and isinstance(made.body, ast.Dict) and len(made.args.args) > 1:
        number = made.args.args[1].arg
        for key, value in zip(made.body.keys, made.body.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(value, ast.Name) and value.id == number:
                yield str(key.value)


def _column(script: Script, name: ast.Name) -> str:
    """The parameter whose elements a loop gives a name; "" for others."""
    held = list(script.values.held(At(name)))
    value = held[0].node if len(held) == 1 else None
    return value.id if isinstance(value, ast.Name) else ""


def _masked_decoded(script: Script) -> Iterator[Met]:
    """Labels that are decoded with the -100 which is no token."""
    if "-100" not in script.text and "DataCollatorFor" not in script.text:
        return  # nothing shows that labels are masked
    for (_, name), function in script.values.program.functions.items():
        if "compute_metrics" not in name or not function.args.args:
            continue
        given = function.args.args[0].arg
        for call in script.values.program.calls:
            step = script.values.step(call)
            if named(call) != "batch_decode" or step is None or step.scope is not function or not call.args:
                continue
            nodes = [each.node for each in script.values.made_of(call.args[0])]
            cleaned = any(isinstance(e, ast.Constant) and e.value == 100 for e in nodes) or _put_in_place(
                script, call.args[0]
            )
            if _is_labels(script, call.args[0], given) and not cleaned:
                yield Met("masked_labels_decoded", call, {"labels": ast.unparse(call.args[0])})
                return


def _is_labels(script: Script, node: ast.expr, given: str) -> bool:
    """Whether a value is the second part of what `compute_metrics` is given, or its `label_ids`."""
    if text_of(node) == f"{given}.label_ids":
        return True
    seen = 0
    while isinstance(node, (ast.Name, ast.Subscript)) and seen < 8:
        seen += 1
        if isinstance(node, ast.Subscript):
            node = node.value
            continue
        defined = [each for each in script.values.reaching(node) if not each.weak and each.value is not None]
        if len(defined) != 1 or defined[0].value is None:
            return False
        value = defined[0].value
        if text_of(value) == given and isinstance(value, ast.Name):
            return defined[0].index == (1,)
        if text_of(value) == f"{given}.label_ids":
            return True
        node = value
    return False


def _put_in_place(script: Script, node: ast.expr) -> bool:
    """Whether something was written into an array: `labels[labels == -100] = pad`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name) and any(each.weak for each in script.values.reaching(node))

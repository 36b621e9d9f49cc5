"""Idioms of loops that show without following calls: a new object under the loop's own name, means of micro-batches,
a position in the data that no checkpoint holds.

https://docs.python.org/3/reference/compound_stmts.html#the-for-statement
https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
https://huggingface.co/blog/gradient_accumulation
https://meta-pytorch.org/data/main/torchdata.stateful_dataloader.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from doctor.base.patterns import later
from doctor.readers.script.flow.seen import Met

#: methods of a tensor that give a new one and leave the old as it is
_NEW = frozenset({
    "to", "half", "float", "bfloat16", "double", "type", "cuda", "cpu", "clone", "contiguous", "detach", "type_as",
})  # fmt: skip
#: what goes through the tensors of a model
_TENSORS = frozenset({"parameters", "named_parameters", "buffers", "named_buffers"})
_COUNTS = later(r"(?i)accum|^gas$|micro_?batches|micro_?steps")
_MASKS = later(r"(?i)mask|valid")
_RESUMES, _SAVES = later(r"^(?:load|restore|resume)"), later(r"^save(?:_checkpoint|_state)?$")
_DATA, _STATES = later(r"(?i)loader|dataset|sampler|^data|batches|(?:_|^)iter(?:ator)?$"), later(r"state_dict$|^skip")
_LONGEST = 80  # characters of code that are quoted
_MEANS = later(r"(?i)^masked_?mean$")


def in_loops(tree: ast.Module) -> Iterator[Met]:
    """All of them, wherever they stand in a file or a piece of one."""
    resumes = any(isinstance(each, ast.Call) and _RESUMES.search(_last(each.func)) for each in ast.walk(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.For):
            yield from _not_saved(node, tree) if resumes else ()
            yield from _rebound(node)
            yield from _mean_of_each(node)


def _rebound(loop: ast.For) -> Iterator[Met]:
    """A tensor of the model is replaced under the loop's name alone, and nothing reads that name behind it."""
    names = {each.id for each in ast.walk(loop.target) if isinstance(each, ast.Name)}
    if not isinstance(loop.iter, ast.Call) or _last(loop.iter.func) not in _TENSORS:
        return
    within = [each for part in loop.body for each in ast.walk(part)]
    for node in within:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
            continue
        name, made = node.targets[0].id, node.value
        call = made.func if isinstance(made, ast.Call) else None
        new = isinstance(call, ast.Attribute) and call.attr in _NEW and _last(call.value) == name
        last = node.end_lineno or node.lineno
        if new and name in names and not any(_reads(each, name, last) for each in within):
            yield Met("loop_name_rebound", node, {"name": name, "code": _shown(node)})


def _mean_of_each(loop: ast.For) -> Iterator[Met]:
    """The loss is the mean over the tokens of one micro-batch, and is divided by the number of micro-batches."""
    within = [each for part in loop.body for each in ast.walk(part)]
    if not any(isinstance(each, ast.Call) and _last(each.func) == "backward" for each in within):
        return
    means = {name: each for each in within if isinstance(each, ast.Assign) and (name := _mean_of_step(each))}
    for node in within:
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div) or not isinstance(node.left, ast.Name):
            continue
        if node.left.id in means and _COUNTS.search(_last(node.right)):
            mean = means[node.left.id]
            yield Met("mean_of_each_micro_batch", mean, {"loss": node.left.id, "number": _last(node.right)})
            return


def _not_saved(loop: ast.For, tree: ast.Module) -> Iterator[Met]:
    """A loop over steps draws from a loader and saves model and optimizer by name, but nothing of the loader."""
    calls = [each for part in loop.body for each in ast.walk(part) if isinstance(each, ast.Call)]
    nexts = [each.args[0] for each in calls if _last(each.func) == "next" and each.args]
    drawn = [each.id for each in nexts if isinstance(each, ast.Name)]
    saved = [each for each in calls if _SAVES.search(_last(each.func)) and _has(each, "optimizer")]
    if len(set(drawn)) != 1 or len(saved) != 1 or not _DATA.search(drawn[0]):
        return
    held = {each.arg or "" for each in saved[0].keywords} | {
        each.id for each in ast.walk(saved[0]) if isinstance(each, ast.Name)
    }
    states = any(_STATES.search(each.attr) and _last(each.value) == drawn[0] for each in _attributes(tree))
    if not states and not any(_DATA.search(each) for each in held):
        yield Met("loader_not_saved", saved[0], {"loader": drawn[0], "call": _shown(saved[0])})


def _has(call: ast.Call, keyword: str) -> bool:
    return any(each.arg == keyword for each in call.keywords)


def _attributes(tree: ast.AST) -> Iterator[ast.Attribute]:
    return (each for each in ast.walk(tree) if isinstance(each, ast.Attribute))


def _mean_of_step(node: ast.Assign) -> str:
    """The name that becomes a mean over what a mask leaves: `loss[mask].mean()`, `masked_mean(loss, mask)`; or ""."""
    target, call = node.targets[0], node.value
    if len(node.targets) != 1 or not isinstance(target, ast.Name) or not isinstance(call, ast.Call):
        return ""
    of = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "mean" else None
    under = isinstance(of, ast.Subscript) and _MASKS.search(_shown(of.slice)) is not None and not call.args
    return target.id if under or _MEANS.search(_last(call.func)) else ""


def _reads(node: ast.AST, name: str, after: int) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) and node.lineno > after


def _shown(node: ast.AST) -> str:
    return ast.unparse(node)[:_LONGEST].replace("`", "'")


def _last(node: ast.expr) -> str:
    """The last name of an expression, "" where it has none."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""

"""Idioms that a script shows only together with the modules beside it: what one file makes and another takes apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from doctor.base.patterns import later
from doctor.readers.script.flow.answer_formats import formats_differ
from doctor.readers.script.flow.failures import failures_rewarded
from doctor.readers.script.flow.program import named, text_of
from doctor.readers.script.flow.seen import Met
from doctor.readers.script.flow.vocabularies import tokenizer_of_another_model
from doctor.readers.script.python_source import ParsedFile

_GROUP = later(r"(?i)generations|group_?size|^G$|n_samples|num_samples|num_return_sequences|rollouts?_per|samples_per")
_PROMPTS = later(r"(?i)prompt|text|quer|question|row|input|batch|messages|ids|mask")
_REWARDS = later(r"(?i)reward|score|return")
_SCORES = later(r"(?i)reward|score|value|critic|classif|(?:^|_)rm(?:_|$)|RM$")
_STATES = frozenset({"last_hidden_state", "hidden_states"})
_LEFT = later(r"padding_side\s*=\s*[\"']left|[\"']padding_side[\"']\s*:\s*[\"']left|\.flip\(|left_pad")
_RIGHT = later(r"padding_side\s*=\s*[\"']right|pad_sequence\(")


class Found(NamedTuple):
    """An idiom, and the source that its node stands in."""

    source: ParsedFile
    met: Met


def idioms_across(sources: Sequence[ParsedFile]) -> Iterator[Found]:
    """All idioms of this file."""
    yield from _groups(sources)
    yield from _last_positions(sources)
    for source, node, holes in formats_differ(sources):
        yield Found(source, Met("answer_format_not_asked", node, holes))
    for source, node, holes in tokenizer_of_another_model(sources):
        yield Found(source, Met("tokenizer_of_another_model", node, holes))
    for source in sources:
        if "except" in source.text:
            yield from (Found(source, met) for met in failures_rewarded(source.tree))


# --- groups -----------------------------------------------------------------------------------------------------


def _groups(sources: Sequence[ParsedFile]) -> Iterator[Found]:
    """Prompts whose list is repeated as a whole, and rewards whose groups are neighbours."""
    if any("repeat_interleave" in each.text for each in sources):
        return
    if not any("view(" in each.text or "reshape(" in each.text for each in sources):
        return
    rows = {number for each in sources for number in _neighbours(each.tree)}
    if not rows:
        return
    for source in sources:
        for node in ast.walk(source.tree):
            number = _tiled(node)
            if number and number in rows:
                yield Found(source, Met("groups_interleaved", node, {"N": number}))
                return


def _tiled(node: ast.AST) -> str:
    """The number by which a list of prompts is repeated as a whole: `[chat(row) for row in rows] * group_size`."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return ""
    name = text_of(node.right).rpartition(".")[2]
    if not name or not _GROUP.search(name) or not isinstance(node.left, ast.ListComp):
        return ""
    return name if len(node.left.generators) == 1 and _PROMPTS.search(ast.unparse(node.left)) else ""


def _neighbours(tree: ast.Module) -> Iterator[str]:
    """Numbers by which rewards are taken apart into groups of neighbours: `rewards.view(-1, group_size)`."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or named(node) not in {"view", "reshape"} or len(node.args) != 2:
            continue
        base = node.func.value if isinstance(node.func, ast.Attribute) else None
        name = text_of(node.args[1]).rpartition(".")[2]
        if base is not None and ast.unparse(node.args[0]) == "-1" and _REWARDS.search(text_of(base)) and name:
            yield name


# --- scores -----------------------------------------------------------------------------------------------------


def _last_positions(sources: Sequence[ParsedFile]) -> Iterator[Found]:
    """A score that is read at the last position, in a project that pads on the right."""
    if not any(_RIGHT.search(each.text) for each in sources) or any(_LEFT.search(each.text) for each in sources):
        return
    for source in sources:
        if "[:, -1" not in source.text or "attention_mask" not in source.text:
            continue
        for function in ast.walk(source.tree):
            if isinstance(function, ast.FunctionDef) and "attention_mask" in {e.arg for e in function.args.args}:
                node = _scored_at_the_end(function)
                if node is not None:
                    yield Found(source, Met("score_of_padding", node, {"score": ast.unparse(node)}))
                    return


def _scored_at_the_end(function: ast.FunctionDef) -> ast.Subscript | None:
    """`head(hidden)[:, -1]` of all positions of a model, in a function that never counts with the mask."""
    values: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            values.setdefault(node.targets[0].id, []).append(node.value)
    if _counts_mask(function):
        return None
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _is_last(node.slice):
            parts = list(_made(node.value, values, set()))
            scored = any(isinstance(e, ast.Call) and _SCORES.search(named(e) or "") for e in parts)
            scored |= any(isinstance(e, ast.Call) and named(e).endswith("head") for e in parts)
            if scored and any(isinstance(e, ast.Attribute) and e.attr in _STATES for e in parts):
                return node
    return None


def _is_last(node: ast.expr) -> bool:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return len(parts) >= 2 and isinstance(parts[0], ast.Slice) and ast.unparse(parts[1]) == "-1"


def _counts_mask(function: ast.FunctionDef) -> bool:
    """Whether the mask is used for more than to be handed to a model."""
    given = {
        id(each.value) for call in ast.walk(function) if isinstance(call, ast.Call)
        for each in call.keywords if each.arg == "attention_mask"
    }  # fmt: skip
    return any(isinstance(e, ast.Name) and e.id == "attention_mask" and id(e) not in given for e in ast.walk(function))


def _made(node: ast.AST, values: dict[str, list[ast.expr]], seen: set[str]) -> Iterator[ast.AST]:
    """What an expression is made of inside of a function."""
    for each in ast.walk(node):
        yield each
        if isinstance(each, ast.Name) and each.id not in seen:
            seen.add(each.id)
            for value in values.get(each.id, ()):
                yield from _made(value, values, seen)

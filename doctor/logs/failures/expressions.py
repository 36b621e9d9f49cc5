"""What a quoted line of Python does, read from its syntax tree: of what it takes an entry, what it divides and calls.

A traceback quotes the first line of a statement, which may be cut off inside its brackets or be the head of a block.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator
from functools import lru_cache

from doctor.base.patterns import later

_LONGEST = 70  # characters of an expression that is quoted
_BLOCK = later(r"^(?:async )?(?:if|elif|while|for|with)\b.*:\s*(?:#.*)?$")
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@lru_cache(maxsize=64)
def parsed(code: str) -> ast.AST | None:
    """The tree of a line as a traceback quotes it; None where it is no Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "invalid escape sequence" is about the user's line, and goes to stderr
        for text in _readings(code.strip()):
            try:
                return ast.parse(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
    return None


def _readings(code: str) -> Iterator[str]:
    """The line as it is, its block's head with a body, its brackets closed, and as one argument of a call."""
    yield code
    if _BLOCK.match(code):
        yield f"{code.removeprefix('el')} pass" if code.startswith("elif") else f"{code} pass"
    closed = _closed(code)
    if closed is None:
        return
    if closed != code:
        yield closed
    yield f"_({closed.rstrip(', ')})"


def _closed(code: str) -> str | None:
    """The line with its open brackets closed; None where one closes that none opened, or a text stays open."""
    open_, quote = [], ""
    for index, sign in enumerate(code):
        if quote:
            quote = "" if sign == quote and code[index - 1] != "\\" else quote
        elif sign in "'\"":
            quote = sign
        elif sign in _CLOSING:
            open_.append(sign)
        elif sign in _BRACKETS and (not open_ or open_.pop() != _BRACKETS[sign]):
            return None
    return None if quote else code + "".join(_CLOSING[each] for each in reversed(open_))


def shown(node: ast.AST | None) -> str:
    """An expression in words short enough to quote, without backticks; "" for none."""
    if node is None:
        return ""
    text = ast.unparse(node).replace("`", "'")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 2]} …"


def one(nodes: Iterable[ast.expr]) -> ast.expr | None:
    """The only one of several, which may stand there more than once; None where they differ."""
    different = {ast.dump(each): each for each in nodes}
    return next(iter(different.values())) if len(different) == 1 else None


def every(tree: ast.AST | None, kind: type[ast.AST]) -> list[ast.AST]:
    """All nodes of one kind, the outermost first."""
    return [each for each in ast.walk(tree) if isinstance(each, kind)] if tree is not None else []


def positions(tree: ast.AST | None) -> list[tuple[ast.expr, ast.expr]]:
    """(what, position) where an entry is taken by a number or a name, not by a text or a slice."""
    taken = [each for each in every(tree, ast.Subscript) if isinstance(each, ast.Subscript)]
    return [
        (each.value, each.slice)
        for each in taken
        if isinstance(each.ctx, ast.Load) and not isinstance(each.slice, ast.Slice) and not _is_text(each.slice)
    ]


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def calls(tree: ast.AST | None, *names: str) -> list[ast.Call]:
    """Calls of functions with one of these last names, the outermost first; all of them without names."""
    found = [each for each in every(tree, ast.Call) if isinstance(each, ast.Call)]
    return [each for each in found if not names or name_of(each.func) in names]


def name_of(node: ast.expr) -> str:
    """The last name of a function's expression."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def arguments(found: Iterable[ast.Call]) -> list[ast.expr]:
    """The first argument of each call that has one."""
    return [each.args[0] for each in found if each.args]


def divisors(tree: ast.AST | None) -> list[ast.expr]:
    """What the line divides by."""
    return [
        each.right
        for each in every(tree, ast.BinOp)
        if isinstance(each, ast.BinOp) and isinstance(each.op, (ast.Div, ast.FloorDiv, ast.Mod))
        and not isinstance(each.right, ast.Constant)
    ]  # fmt: skip


#: operators as exceptions write them
_OPERATORS = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod, "** or pow()": ast.Pow,
    "@": ast.MatMult, "|": ast.BitOr, "&": ast.BitAnd, "<": ast.Lt, ">": ast.Gt, "<=": ast.LtE, ">=": ast.GtE,
}  # fmt: skip


def operands_of(tree: ast.AST | None, operator: str) -> list[tuple[ast.expr, ast.expr]]:
    """(left, right) of each operation with one operator, as an exception writes it."""
    kind = _OPERATORS.get(operator)
    if kind is None:
        return []
    pairs = [
        (one.left, one.right) for one in every(tree, ast.BinOp) if isinstance(one, ast.BinOp) and type(one.op) is kind
    ]
    pairs += [
        (one.left, one.comparators[0])
        for one in every(tree, ast.Compare)
        if isinstance(one, ast.Compare) and len(one.ops) == 1 and type(one.ops[0]) is kind
    ]
    return pairs


def operands(tree: ast.AST | None) -> list[tuple[ast.expr, ast.expr]]:
    """(left, right) of each operation and comparison of two."""
    pairs = [(each.left, each.right) for each in every(tree, ast.BinOp) if isinstance(each, ast.BinOp)]
    pairs += [
        (each.left, each.comparators[0])
        for each in every(tree, ast.Compare)
        if isinstance(each, ast.Compare) and len(each.comparators) == 1
    ]
    pairs += [(each.target, each.value) for each in every(tree, ast.AugAssign) if isinstance(each, ast.AugAssign)]
    return pairs


def owners(tree: ast.AST | None, name: str) -> list[ast.expr]:
    """Of what an attribute of this name is asked."""
    return [each.value for each in every(tree, ast.Attribute) if isinstance(each, ast.Attribute) and each.attr == name]


def unpacked(tree: ast.AST | None) -> ast.expr | None:
    """What an assignment or a loop takes apart into several names; None where the line does not."""
    for each in every(tree, ast.stmt):
        target = each.targets[0] if isinstance(each, ast.Assign) else each.target if isinstance(each, ast.For) else None
        if isinstance(target, (ast.Tuple, ast.List)):
            return each.value if isinstance(each, ast.Assign) else each.iter if isinstance(each, ast.For) else None
    return None


def asserted(tree: ast.AST | None) -> ast.expr | None:
    """What an assertion asks for."""
    found = [each.test for each in every(tree, ast.Assert) if isinstance(each, ast.Assert)]
    return found[0] if found else None

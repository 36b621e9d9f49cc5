"""What a syntax tree says of one `raise`: the condition that guards it, and where the values in it come from."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise

from doctor.base.record import record

_LONGEST = 160  # characters of an expression
_MOST_OPERANDS = 4
_LEAVES = (ast.Return, ast.Continue, ast.Break)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@record
class Condition:
    """The condition under which a line raises.

    Args:
        parts: (expression as it stands in the source, whether it is raised when that holds or when it does not); all
            of them at once.
        operands: the values in it, as expressions.
        line: where it stands.

    """

    parts: tuple[tuple[str, bool], ...]
    operands: tuple[str, ...]
    line: int


@record
class Definition:
    """Where the value of an expression comes from.

    Args:
        kind: "value" (an expression that the function computes), "parameter" (the caller gives it), "field" (a setting
            of the class, by its name) or "literal".
        text: the expression, or the name; `line`: where it stands.

    """

    kind: str
    text: str
    line: int


def condition_of(text: str, tree: ast.Module, line: int) -> Condition | None:
    """The condition that guards the `raise`, or that the `assert` at a line asserts; None where there is none."""
    path = _path_to(tree, line)
    statement = path[-1] if path else None
    if isinstance(statement, ast.Assert):
        return _condition(text, [], [statement.test])
    if not isinstance(statement, ast.Raise) or statement.exc is None or isinstance(statement.exc, ast.Subscript):
        return None  # what was caught before is raised again: the condition says nothing of its cause
    failed: list[ast.expr] = []
    earlier: ast.expr | None = None
    for child, parent in zip(path[:0:-1], path[-2::-1], strict=True):
        if isinstance(parent, ast.If) and child in parent.body:
            return _condition(text, [parent.test], failed)
        if isinstance(parent, ast.If):
            failed.insert(0, parent.test)
            continue
        earlier = earlier or _left_before(getattr(parent, "body", ()), child)
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)):
            break
    return _condition(text, [], failed or ([earlier] if earlier is not None else []))


def definition_of(tree: ast.Module, line: int, name: str) -> Definition | None:
    """Where the value comes from that an expression has at a line.

    Args:
        tree: of the file.
        line: of the condition.
        name: "batch", "self.batch" or "args.batch".

    """
    path = _path_to(tree, line)
    function = next((each for each in reversed(path) if isinstance(each, Function)), None)
    scope = path[path.index(function) :] if function is not None else [tree, *path]
    if (value := _assigned(_before(scope), name)) is not None:
        return _definition(value)
    holder, _, attribute = name.partition(".")
    owner = next((each for each in reversed(path) if isinstance(each, ast.ClassDef)), None)
    if attribute and holder == "self" and owner is not None and "." not in attribute:
        declared = [each for each in owner.body if isinstance(each, ast.AnnAssign)]
        made = (each for each in owner.body if isinstance(each, Function) and each.name == "__init__")
        is_field = any(ast.unparse(each.target) == attribute for each in declared)
        value = None if is_field else _assigned(chain.from_iterable(map(ast.walk, made)), name)
        return _definition(value) if value is not None else Definition("field", attribute, line)
    if attribute:
        return Definition("field", attribute.rpartition(".")[2], line)
    if function is not None and name in [each.arg for each in _arguments(function)]:
        return Definition("parameter", name, function.lineno)
    return None


def given(tree: ast.Module, line: int, callee: ast.AST, name: str) -> tuple[str, int] | None:
    """The expression that a call at a line gives for a parameter of a function, and its line; None where it gives none.

    Args:
        tree: of the caller's file.
        line: of the call.
        callee: the function, or the class that it makes.
        name: of the parameter.

    """
    if not isinstance(callee, Function):
        return None
    names = [each.arg for each in _arguments(callee)]
    names = names[1:] if names[:1] in (["self"], ["cls"]) else names
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not call.lineno <= line <= (call.end_lineno or call.lineno):
            continue
        if not _calls(call, callee):
            continue
        for keyword in call.keywords:
            if keyword.arg == name:
                return _short(keyword.value), keyword.value.lineno
        place = names.index(name) if name in names else len(call.args)
        if place < len(call.args) and not any(isinstance(each, ast.Starred) for each in call.args[: place + 1]):
            return _short(call.args[place]), call.args[place].lineno
    return None


def function_at(tree: ast.Module, line: int) -> ast.AST | None:
    """The function in which a line stands."""
    return next((each for each in reversed(_path_to(tree, line)) if isinstance(each, Function)), None)


def settings_of(tree: ast.Module, name: str) -> Iterator[tuple[str, int]]:
    """(value, line) wherever a script gives a setting a value: as an argument, a key, an attribute or a name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == name:
            yield _resolved(tree, node.value), node.value.lineno
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == name:
                    yield _resolved(tree, value), value.lineno
        elif isinstance(node, ast.Assign) and any(getattr(each, "attr", None) == name for each in node.targets):
            yield _resolved(tree, node.value), node.lineno


def _resolved(tree: ast.Module, value: ast.expr) -> str:
    """An expression; a name by the constant that the module gives it."""
    if isinstance(value, ast.Name):
        known = _assigned(tree.body, value.id)
        value = known if isinstance(known, ast.Constant) else value
    return _short(value)


def _path_to(tree: ast.Module, line: int) -> list[ast.AST]:
    """The statements and handlers that hold a line, the outermost first."""
    path: list[ast.AST] = [tree]
    while True:
        inner = (each for each in _blocks(path[-1]) if each.lineno <= line <= (each.end_lineno or each.lineno))
        found = next(inner, None)
        if found is None:
            return path[1:]
        path.append(found)


def _blocks(node: ast.AST) -> Iterator[ast.stmt | ast.ExceptHandler]:
    for field in ("body", "orelse", "finalbody", "handlers"):
        for each in getattr(node, field, None) or ():
            if isinstance(each, (ast.stmt, ast.ExceptHandler)):
                yield each


def _left_before(block: Sequence[ast.stmt], statement: ast.AST) -> ast.expr | None:
    """The condition right before a statement under which its block is left, so that it is not reached."""
    place = next((number for number, each in enumerate(block) if each is statement), 0)
    before = block[place - 1] if place else None
    if isinstance(before, ast.If) and not before.orelse and isinstance(before.body[-1], _LEAVES):
        return before.test
    return None


def _condition(text: str, held: Sequence[ast.expr], failed: Sequence[ast.expr]) -> Condition | None:
    """The condition, where it is short enough to be read."""
    parts: list[tuple[str, bool]] = []
    for test, holds in (*((each, True) for each in held), *((each, False) for each in failed)):
        inner, positive = test, holds
        while isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.Not):
            inner, positive = inner.operand, not positive
        said = " ".join((ast.get_source_segment(text, inner) or ast.unparse(inner)).split())
        parts.append((said, positive))
    tests = (*held, *failed)
    if not tests or sum(len(said) for said, _ in parts) > _LONGEST * 2:
        return None
    names = dict.fromkeys(name for each in tests for name in _operands(each))
    return Condition(tuple(parts), tuple(names)[:_MOST_OPERANDS], tests[0].lineno)


def _operands(node: ast.AST) -> Iterator[str]:
    """Names and attributes in an expression, but for those that are called."""
    if isinstance(node, ast.Call):
        for each in (*node.args, *(keyword.value for keyword in node.keywords)):
            yield from _operands(each)
        if isinstance(node.func, ast.Attribute):
            yield from _operands(node.func.value)
    elif isinstance(node, (ast.Name, ast.Attribute)) and _is_plain(node):
        yield ast.unparse(node)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _operands(child)


def _is_plain(node: ast.AST) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and not node.id[:1].isupper()


def _before(path: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The statements that have surely run before a line: none of a branch that may have been passed by."""
    for parent, child in pairwise(path):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(parent, field, None) or []
            if child in block:
                yield from block[: block.index(child)]


def _assigned(nodes: Iterable[ast.AST], name: str) -> ast.expr | None:
    """The last value that an expression is given."""
    last: tuple[int, ast.expr] | None = None
    for node in nodes:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) or value is None:
            continue
        if not any(each and ast.unparse(each) == name for each in targets):
            continue
        if last is None or node.lineno >= last[0]:
            last = node.lineno, value
    return last[1] if last is not None else None


def _definition(value: ast.expr) -> Definition:
    kind = "literal" if isinstance(value, ast.Constant) else "value"
    return Definition(kind, _short(value), value.lineno)


def _arguments(function: Function) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def _calls(call: ast.Call, callee: Function) -> bool:
    """Whether a call may be that of a function; of a class's `__init__` it names the class, which begins large."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name == callee.name or (callee.name in ("__init__", "__call__") and bool(name))


def _short(value: ast.expr) -> str:
    text = " ".join(ast.unparse(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def is_name(expression: str) -> bool:
    """Whether an expression is a name or an attribute, whose value comes from elsewhere."""
    return all(part.isidentifier() for part in expression.split(".")) and expression not in ("None", "True", "False")

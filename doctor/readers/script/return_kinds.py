"""Kinds of what a function returns: "list", "scalar", "none", "str"; "unknown" where the source does not prove it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from doctor.readers.script.ast_scopes import FunctionNode

_SCALAR_CALLS = frozenset({"float", "int", "bool", "len", "sum", "abs", "round", "ord", "hash"})
_LIST_CALLS = frozenset({"list", "sorted"})
_STRING_CALLS = frozenset({"str", "repr", "chr", "input"})
_NOT_ENTERED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LEAVES = frozenset({"exit", "quit", "_exit", "abort"})


def return_kinds(function: FunctionNode | ast.Lambda) -> tuple[tuple[str, ...], list[ast.AST]]:
    """Kinds in order of first appearance, and the return statements (of a lambda: its body)."""
    if isinstance(function, ast.Lambda):
        return tuple(_Kinds({}).of(function.body)), [function.body]
    inside = list(own_nodes(function.body))
    if any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in inside):
        return ("unknown",), []
    returns = sorted((each for each in inside if isinstance(each, ast.Return)), key=lambda each: each.lineno)
    kinds = _Kinds(_local_values(function, inside))
    found: dict[str, None] = {}
    for each in returns:
        for kind in ["none"] if each.value is None else kinds.of(each.value):
            found[kind] = None
    if _falls_off(function.body, any_return=bool(returns)):
        found["none"] = None
    return tuple(found), list(returns)


def returns_lists_of_one(function: FunctionNode | ast.Lambda) -> bool:
    """Whether every return statement writes out a list of exactly one element."""
    if isinstance(function, ast.Lambda):
        given: list[ast.expr | None] = [function.body]
    else:
        given = [each.value for each in own_nodes(function.body) if isinstance(each, ast.Return)]
    lists = [each for each in given if isinstance(each, ast.List) and len(each.elts) == 1]
    return bool(given) and len(lists) == len(given) and not any(isinstance(each.elts[0], ast.Starred) for each in lists)


def own_nodes(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Nodes of a function without those of functions and classes inside it."""
    stack = list(reversed(body))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, _NOT_ENTERED):
            stack.extend(ast.iter_child_nodes(node))


def _local_values(function: FunctionNode, inside: list[ast.AST]) -> dict[str, list[ast.expr | None]]:
    """Name -> everything assigned to it in the function; None where that is not an expression of its own."""
    found: dict[str, list[ast.expr | None]] = {}
    arguments = function.args
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        found.setdefault(each.arg, []).append(None)
    for node in inside:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
                else:
                    _hide(target, found)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr, ast.AugAssign)) and isinstance(node.target, ast.Name):
            found.setdefault(node.target.id, []).extend([node.value] if node.value is not None else [])
        else:
            _hide_bound(node, found)
    return found


def _hide_bound(node: ast.AST, found: dict[str, list[ast.expr | None]]) -> None:
    """Names that a loop, a `with` or a `global` statement binds."""
    if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        _hide(node.target, found)
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        _hide(node.optional_vars, found)
    elif isinstance(node, (ast.Global, ast.Nonlocal)):
        for name in node.names:
            found.setdefault(name, []).append(None)


def _hide(target: ast.AST, found: dict[str, list[ast.expr | None]]) -> None:
    """Names unpacked from something; `rewards[i] = 1` leaves `rewards` what it is."""
    if isinstance(target, (ast.Subscript, ast.Attribute)):
        return
    for each in ast.walk(target):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            found.setdefault(each.id, []).append(None)


class _Kinds:
    """Kind of an expression, following local names whose every assignment is of the same kind."""

    def __init__(self, local: dict[str, list[ast.expr | None]]) -> None:
        self._local = local
        self._open: set[str] = set()

    def of(self, node: ast.expr) -> list[str]:
        """Kinds that an expression may have."""
        if isinstance(node, ast.IfExp):
            both = [*self.of(node.body), *self.of(node.orelse)]
            return list(dict.fromkeys(both))
        return [self._one(node)]

    def _one(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant):
            return _of_constant(node.value)
        if isinstance(node, (ast.List, ast.ListComp)):
            return "list"
        if isinstance(node, ast.JoinedStr):
            return "str"
        if isinstance(node, ast.BinOp):
            return self._of_operation(node)
        if isinstance(node, ast.UnaryOp):
            return "scalar" if isinstance(node.op, ast.Not) else self._numeric(node.operand)
        if isinstance(node, ast.Call):
            return self._of_call(node)
        if isinstance(node, ast.Name):
            return self._of_name(node.id)
        return "unknown"

    def _numeric(self, node: ast.expr) -> str:
        return "scalar" if self.of(node) == ["scalar"] else "unknown"

    def _of_operation(self, node: ast.BinOp) -> str:
        left, right = self.of(node.left), self.of(node.right)
        if left == right == ["scalar"]:
            return "scalar"
        if isinstance(node.op, ast.Mult) and {"list", "scalar"} >= {*left, *right} and "list" in {*left, *right}:
            return "list"
        if isinstance(node.op, ast.Add) and left == right and left in (["list"], ["str"]):
            return left[0]
        return "unknown"

    def _of_call(self, node: ast.Call) -> str:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "tolist" and not node.args:
            return "unknown"  # of a tensor without dimensions it is a number
        if not isinstance(node.func, ast.Name) or node.func.id in self._local:
            return "unknown"
        name = node.func.id
        if name in _LIST_CALLS:
            return "list"
        if name in _STRING_CALLS:
            return "str"
        if name in {"sum", "abs"}:
            return "unknown" if name == "sum" and len(node.args) > 1 else self._of_number_maker(node)
        return "scalar" if name in _SCALAR_CALLS else "unknown"

    def _of_number_maker(self, node: ast.Call) -> str:
        """`sum` and `abs` give what they are fed: tensors and arrays stay such."""
        if isinstance(node.func, ast.Name) and node.func.id == "abs":
            return self._numeric(node.args[0]) if node.args else "unknown"
        fed = node.args[0] if node.args else None
        if isinstance(fed, (ast.GeneratorExp, ast.ListComp)):
            return self._numeric(fed.elt)
        return "unknown"

    def _of_name(self, name: str) -> str:
        values = self._local.get(name)
        if not values or name in self._open or any(each is None for each in values):
            return "unknown"
        self._open.add(name)
        kinds = {kind for each in values if each is not None for kind in self.of(each)}
        self._open.discard(name)
        return kinds.pop() if len(kinds) == 1 else "unknown"


def _of_constant(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, (bool, int, float)):
        return "scalar"
    return "str" if isinstance(value, str) else "unknown"


def _falls_off(body: Sequence[ast.stmt], *, any_return: bool) -> bool:
    """Whether the end of the function is surely reached by some path.

    A last statement that itself holds a `return` (an `if` chain that may cover every case, a loop) proves nothing.
    """
    last = body[-1]
    if isinstance(last, (ast.Return, ast.Raise)) or _never_ends(last):
        return False
    if isinstance(last, (ast.With, ast.AsyncWith)):
        return _falls_off(last.body, any_return=any_return)
    if _is_stub(body):
        return False
    inside = list(own_nodes([last]))
    leaves = any(isinstance(each, (ast.Return, ast.Raise)) for each in inside)
    return not leaves or (not any_return and not isinstance(last, (ast.If, ast.Try, ast.While, ast.Match)))


def _is_stub(body: Sequence[ast.stmt]) -> bool:
    """`...` or `pass` alone: an interface, not a reward."""
    return all(
        isinstance(each, ast.Pass) or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        for each in body
    )


def _never_ends(node: ast.stmt) -> bool:
    """`while True` without a break, `assert False`, `sys.exit()`."""
    if isinstance(node, ast.While):
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        return endless and not any(isinstance(each, ast.Break) for each in own_nodes(node.body))
    if isinstance(node, ast.Assert):
        return isinstance(node.test, ast.Constant) and not node.test.value
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
        return name in _LEAVES
    return False

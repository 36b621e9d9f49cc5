"""Values of expressions, told without side effects: what would run code of the program is not told."""

from __future__ import annotations

import ast
import builtins
import operator
import sys
import types
from collections.abc import Iterator
from typing import Any, Callable

from doctor.monitors.capsule import looks
from doctor.monitors.capsule.looks import NUMBERS, PLAIN, UNTOLD

#: expressions of one statement that are told, and how deep they are nested
MOST, _DEEPEST = 40, 30

#: above these a power or a shift is not computed
_LARGEST = 1 << 64

_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
}  # fmt: skip
_COMPARED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip

#: what is told of a statement: nodes of these kinds
_TOLD = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp, ast.Compare)


class Scope:
    """Names of one frame.

    Args:
        local: its local names. Only names are looked up, and a dictionary of names never runs code.
        world: its global names.

    """

    def __init__(self, local: Any, world: Any) -> None:
        is_proxy = type(local).__name__ == "FrameLocalsProxy"  # since Python 3.13
        self.local: dict[str, Any] = dict(local) if is_proxy else local if looks.derives(local, dict) else {}
        self.world: dict[str, Any] = world if looks.derives(world, dict) else {}

    def name(self, name: str) -> Any:
        """The object of a name; UNTOLD where it has none."""
        for place in (self.local, self.world, builtins.__dict__):
            found = dict.get(place, name, UNTOLD)
            if found is not UNTOLD:
                return found
        return UNTOLD


def value_of(node: ast.AST, scope: Scope, depth: int = 0) -> Any:
    """The value of an expression, UNTOLD where it cannot be told without running code."""
    if depth > _DEEPEST:
        return UNTOLD
    evaluate = _EVALUATED.get(type(node))
    return UNTOLD if evaluate is None else evaluate(node, scope, depth + 1)


def _name(node: ast.Name, scope: Scope, depth: int) -> Any:
    return scope.name(node.id)


def _constant(node: ast.Constant, scope: Scope, depth: int) -> Any:
    return node.value


def _attribute(node: ast.Attribute, scope: Scope, depth: int) -> Any:
    value = value_of(node.value, scope, depth)
    return UNTOLD if value is UNTOLD else looks.attribute(value, _mangled(node.attr, scope))


def _mangled(name: str, scope: Scope) -> str:
    """A private name as its class stores it."""
    if not name.startswith("__") or name.endswith("__"):
        return name
    me = dict.get(scope.local, "self")
    for cls in looks.mro(type(me)):
        mangled = f"_{looks.class_name(cls).rpartition('.')[2].lstrip('_')}{name}"
        if mangled in looks.own(me):
            return mangled
    return name


def _subscript(node: ast.Subscript, scope: Scope, depth: int) -> Any:
    value = value_of(node.value, scope, depth)
    inside: Any = node.slice
    inside = getattr(inside, "value", inside) if type(inside).__name__ == "Index" else inside
    key = value_of(inside, scope, depth)
    return UNTOLD if value is UNTOLD or key is UNTOLD else looks.item(value, key)


def _tuple(node: Any, scope: Scope, depth: int) -> Any:
    values = [value_of(each, scope, depth) for each in node.elts[:20]]
    if len(node.elts) > 20 or any(each is UNTOLD for each in values):
        return UNTOLD
    return values if isinstance(node, ast.List) else tuple(values)


def _unary(node: ast.UnaryOp, scope: Scope, depth: int) -> Any:
    value = value_of(node.operand, scope, depth)
    if isinstance(node.op, ast.Not):
        held = truth(value)
        return UNTOLD if held is UNTOLD else not held
    if not looks.one_of(type(value), NUMBERS):
        return UNTOLD
    return -value if isinstance(node.op, ast.USub) else value if isinstance(node.op, ast.UAdd) else UNTOLD


def _binary(node: ast.BinOp, scope: Scope, depth: int) -> Any:
    left, right = value_of(node.left, scope, depth), value_of(node.right, scope, depth)
    compute = _ARITHMETIC.get(type(node.op))
    if compute is None or not looks.one_of(type(left), NUMBERS) or not looks.one_of(type(right), NUMBERS):
        return UNTOLD
    if max(abs(left), abs(right)) > _LARGEST:
        return UNTOLD
    try:
        return compute(left, right)
    except (ArithmeticError, TypeError):  # 1 % 0 may be the very failure
        return UNTOLD


def _bool(node: ast.BoolOp, scope: Scope, depth: int) -> Any:
    stops = isinstance(node.op, ast.Or)
    value: Any = UNTOLD
    for each in node.values:
        value = value_of(each, scope, depth)
        held = truth(value)
        if held is UNTOLD or held is stops:
            return value
    return value


def truth(value: Any) -> Any:
    """Whether a value counts as true; UNTOLD where its class decides."""
    if looks.one_of(type(value), PLAIN):
        return bool(value)
    if value is UNTOLD or looks.is_tensor(value) or looks.is_array(value):
        return UNTOLD
    if looks.one_of(type(value), (list, tuple, dict, set, frozenset, range)):
        return bool(value)
    for name in ("__bool__", "__len__"):
        if looks.of_class(type(value), name) is not UNTOLD:
            return UNTOLD
    return True


def _compare(node: ast.Compare, scope: Scope, depth: int) -> Any:
    left = value_of(node.left, scope, depth)
    for op, other in zip(node.ops, node.comparators):  # noqa: B905 - Python 3.9 has no strict=
        right = value_of(other, scope, depth)
        held = _compared(op, left, right)
        if held is UNTOLD or held is False:
            return held
        left = right
    return True


def _compared(op: ast.cmpop, left: Any, right: Any) -> Any:
    if left is UNTOLD or right is UNTOLD:
        return UNTOLD
    if isinstance(op, (ast.Is, ast.IsNot)):
        return (left is right) is isinstance(op, ast.Is)
    if isinstance(op, (ast.In, ast.NotIn)):
        inside = _contains(right, left)
        return UNTOLD if inside is UNTOLD else inside is isinstance(op, ast.In)
    if not (comparable(left) and comparable(right)):
        return UNTOLD
    try:
        return bool(_COMPARED[type(op)](left, right))
    except TypeError:  # 1 < "2" may be the very failure
        return UNTOLD


def comparable(value: Any, depth: int = 0) -> bool:
    """Whether C alone compares a value: numbers, text, shapes, dtypes, devices, and tuples and lists of these."""
    if looks.one_of(type(value), PLAIN) or looks.is_torch(value, "dtype", "device", "layout"):
        return True
    if looks.one_of(type(value), (tuple, list)) or looks.is_torch(value, "Size"):
        return len(value) <= 64 and depth < 3 and all(comparable(each, depth + 1) for each in value)
    return False


def _contains(container: Any, key: Any) -> Any:
    if type(key) is str and type(container) is str:
        return key in container
    if not looks.one_of(type(key), PLAIN):
        return UNTOLD
    count = looks.length(container)
    if count is None or count > 5_000 or type(looks.inner(container)) is str:
        return UNTOLD
    is_map = looks.derives(looks.inner(container), dict)
    known = (each for each, _ in looks.entries(container, count)) if is_map else looks.elements(container, count)
    return any(type(each) is type(key) and each == key for each in known)


def _conditional(node: ast.IfExp, scope: Scope, depth: int) -> Any:
    held = truth(value_of(node.test, scope, depth))
    if held is UNTOLD:
        return UNTOLD
    return value_of(node.body if held else node.orelse, scope, depth)


def _call(node: ast.Call, scope: Scope, depth: int) -> Any:
    """The few calls that C answers by itself for plain values."""
    if node.keywords or any(isinstance(each, ast.Starred) for each in node.args):
        return UNTOLD
    if isinstance(node.func, ast.Attribute):
        return _method(node, scope, depth)
    function = value_of(node.func, scope, depth)
    arguments = [value_of(each, scope, depth) for each in node.args[:8]]
    if any(each is UNTOLD for each in arguments):
        return UNTOLD
    for known, answer in _FUNCTIONS:
        if function is known:
            try:
                return answer(*arguments)
            except (TypeError, ValueError, ArithmeticError):
                return UNTOLD
    return UNTOLD


def _length(value: Any) -> Any:
    count = looks.length(value)
    return UNTOLD if count is None else count


def _is_instance(value: Any, kinds: Any) -> Any:
    """`isinstance` by the classes themselves; a class that decides otherwise is not asked."""
    kinds = kinds if type(kinds) is tuple else (kinds,)
    if not all(type(each) is type for each in kinds):
        return UNTOLD
    return any(looks.derives(value, each) for each in kinds)


def _has(value: Any, name: Any) -> Any:
    found = looks.attribute(value, name) if type(name) is str else UNTOLD
    return UNTOLD if found is UNTOLD else True


def _get(value: Any, name: Any, *otherwise: Any) -> Any:
    return looks.attribute(value, name) if type(name) is str else UNTOLD


def _of_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    def compute(*arguments: Any) -> Any:
        return function(*arguments) if all(looks.one_of(type(each), NUMBERS) for each in arguments) else UNTOLD

    return compute


_FUNCTIONS: tuple[tuple[Any, Callable[..., Any]], ...] = (
    (len, _length), (isinstance, _is_instance), (hasattr, _has), (getattr, _get), (abs, _of_numbers(abs)),
    (min, _of_numbers(min)), (max, _of_numbers(max)), (int, _of_numbers(int)), (float, _of_numbers(float)),
    (bool, truth), (type, type),
)  # fmt: skip


def _method(node: ast.Call, scope: Scope, depth: int) -> Any:
    """`size`, `dim`, `numel` of a tensor, `get` and `keys` of a dictionary."""
    assert isinstance(node.func, ast.Attribute)  # noqa: S101 - for the type checker
    value = value_of(node.func.value, scope, depth)
    name, arguments = node.func.attr, [value_of(each, scope, depth) for each in node.args[:2]]
    if value is UNTOLD or any(not looks.one_of(type(each), PLAIN) for each in arguments):
        return UNTOLD
    if looks.is_tensor(value):
        return _of_shape(looks.attribute(value, "shape"), name, arguments)
    if name == "get" and arguments and looks.derives(looks.inner(value), dict):
        found = looks.item(value, arguments[0])
        return found if found is not UNTOLD else (arguments[1] if len(arguments) > 1 else None)
    if name == "keys" and not arguments and looks.derives(looks.inner(value), dict):
        return [key for key, _ in looks.entries(value, 64)]
    return UNTOLD


def _of_shape(shape: Any, name: str, arguments: list[Any]) -> Any:
    if shape is UNTOLD:
        return UNTOLD
    if name == "size" and arguments and type(arguments[0]) is int:
        return shape[arguments[0]] if -len(shape) <= arguments[0] < len(shape) else UNTOLD
    if name == "size" and not arguments:
        return shape
    if name in ("dim", "ndimension"):
        return len(shape)
    if name == "numel":
        count = 1
        for each in shape:
            count *= each
        return count
    return UNTOLD


_EVALUATED: dict[type, Callable[[Any, Scope, int], Any]] = {
    ast.Name: _name, ast.Constant: _constant, ast.Attribute: _attribute, ast.Subscript: _subscript, ast.Tuple: _tuple,
    ast.List: _tuple, ast.UnaryOp: _unary, ast.BinOp: _binary, ast.BoolOp: _bool, ast.Compare: _compare,
    ast.IfExp: _conditional, ast.Call: _call,
}  # fmt: skip


def parts(node: ast.AST) -> Iterator[ast.AST]:
    """The expressions of a node that are worth telling, outermost first; bodies of inner functions are left out."""
    left = [node]
    while left:
        each = left.pop(0)
        if isinstance(each, _TOLD):
            yield each
        if not isinstance(each, (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            left += ast.iter_child_nodes(each)


def is_telling(node: ast.AST, value: Any) -> bool:
    """Whether a value says something: functions, modules and classes are known from the source."""
    if value is UNTOLD:
        return False
    kinds = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType)
    return not any(looks.derives(value, each) for each in (*kinds, type))


def text_of(node: ast.AST, lines: list[str]) -> str:
    """An expression as it stands in the source, on one line; as Python writes it where that cannot be had."""
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
    if first and first == last and first <= len(lines):
        data = lines[first - 1].encode("utf-8", "replace")
        begin, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        return data[begin:end].decode("utf-8", "replace")
    return ast.unparse(node) if sys.version_info >= (3, 9) else ""

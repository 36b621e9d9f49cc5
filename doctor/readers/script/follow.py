"""Follows the code of a validator, statement by statement, with settings for values: under which it ends by raising."""

# ruff: noqa: ARG002 - one form for the methods of all statements

from __future__ import annotations

import ast
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from doctor.base.record import mutable, record
from doctor.readers.script.formulas import UNKNOWN, Expr, constant, either, operation, surely, unknown

_COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in",
            ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not"}  # fmt: skip
_ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**"}
_COMPUTE = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
            "%": operator.mod, "**": operator.pow}  # fmt: skip
#: functions of values; `isinstance` apart
_FUNCTIONS = {"len", "int", "float", "bool", "max", "min", "abs", "round"}
_METHODS = {"startswith", "endswith", "lower", "upper", "split"}
_TYPES = {"int", "float", "str", "bool", "list", "dict", "tuple"}
#: calls that change no setting
_HARMLESS = {
    "warn", "warn_once", "warning", "warning_once", "warning_rank0", "warning_rank0_once", "info", "info_once",
    "info_rank0", "debug", "error", "print", "print_once", "log", "log_hyperparams", "get", "append", "add",
    "simplefilter", "filterwarnings", "deprecate", "list_repo_files",
}  # fmt: skip
#: what the settings' own objects compute from the launch
_WORLD = {"world_size": "world.processes"}
_REFUSALS = {
    "ValueError", "AssertionError", "NotImplementedError", "TypeError", "RuntimeError", "KeyError", "Exception",
    "ConfigError", "SystemExit",
}  # fmt: skip
#: calls that look at an object; that end the program
_READING = frozenset({"vars", "str", "repr", "hasattr", "getattr", "isinstance", "dict", "dumps", "format"})
_EXITS = frozenset({"sys.exit", "exit", "quit", "os._exit"})
_DEEPEST, _ROWS = 4, 12


@mutable
class Code:
    """What the code of a release knows beside the function that is followed.

    Args:
        functions: by name, of the same package; `methods` those of the class whose object `self` is.
        constants: plain values that modules hold; `enums` members of enumerations, `Class.MEMBER`.
        altered: settings that a base class of another package may change, when `super().NAME()` is called.
        classes: methods of the class that is followed and of its bases of this package, by class, nearest first.

    """

    functions: Mapping[str, ast.FunctionDef] = field(default_factory=dict)
    methods: Mapping[str, ast.FunctionDef] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    enums: Mapping[str, Any] = field(default_factory=dict)
    altered: frozenset[str] = frozenset()
    classes: Mapping[str, Mapping[str, ast.FunctionDef]] = field(default_factory=dict)


@mutable
class Root:
    """An object of settings: the prefix of their names, and whether it holds what was written alone.

    `filled`: code that ran before fills in what was not written, so that no default counts.
    """

    prefix: str = ""
    raw: bool = False
    filled: bool = False


@mutable
class FollowedState:
    """Values of variables and of settings that were changed; `lost`: the settings are no longer known."""

    variables: dict[str, Any] = field(default_factory=dict)
    changed: dict[str, Expr] = field(default_factory=dict)
    lost: bool = False

    def copy(self) -> FollowedState:
        """One for a branch."""
        return FollowedState(dict(self.variables), dict(self.changed), self.lost)


@record
class Way:
    """How statements are left: whether they always end there, and what no `return` among them asks for.

    A branch that raises ends, and asks for nothing: what comes behind it is refused anyhow where that holds.
    """

    ends: bool
    on: Expr


_GOES_ON, _RAISES, _RETURNS = Way(False, True), Way(True, True), Way(True, False)


class Walk:
    """One validator; `raised` is (condition, name of the exception, line) of every place where it refuses."""

    def __init__(self, code: Code, path: str = "", parsed: Root | None = None) -> None:
        self.code = code
        self.path = path
        self.parsed = parsed  # what a parser of arguments gives, in a program of its own
        self.raised: list[tuple[Expr, str, str]] = []
        self._depth = 0
        self._held = 0  # inside a `try` that catches
        self._line = path
        self._within: list[ast.FunctionDef] = []
        self._exits: list[list[tuple[Expr, FollowedState]]] = []  # of the functions that are called

    def within(self, function: ast.FunctionDef) -> None:
        """Say which function is followed, so that `super()` finds the next one."""
        self._within.append(function)

    def follow(self, body: Sequence[ast.stmt], state: FollowedState, above: Expr = True) -> Way:
        """Follow statements under a condition."""
        on: Expr = True
        for statement in body:
            method = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if method is None:
                self._forget(statement, state)
                continue
            way = method(statement, state, _and(above, on)) or _GOES_ON
            on = _and(on, way.on)
            if way.ends:
                return Way(True, on)
        return Way(False, on)

    # statements

    def _raise(self, node: ast.Raise, state: FollowedState, above: Expr) -> Way:
        call = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        kind = call.id if isinstance(call, ast.Name) else call.attr if isinstance(call, ast.Attribute) else ""
        if kind in _REFUSALS:
            self._refuse(above, kind, node)
        return _RAISES

    def _assert(self, node: ast.Assert, state: FollowedState, above: Expr) -> None:
        self._refuse(_and(above, _not(self.value(node.test, state))), "AssertionError", node)

    def _refuse(self, condition: Expr, kind: str, node: ast.AST) -> None:
        sure = surely(condition)
        if sure is not None and not isinstance(sure, bool) and not self._held:
            self.raised.append((sure, kind, f"{self._line}#L{node.lineno}"))  # type: ignore[attr-defined]

    def _return(self, node: ast.Return, state: FollowedState, above: Expr) -> Way:
        if self._exits:
            self._exits[-1].append((above, state.copy()))
        return _RETURNS

    def _pass(self, node: ast.stmt, state: FollowedState, above: Expr) -> None:
        return None

    _import = _importfrom = _functiondef = _asyncfunctiondef = _classdef = _global = _pass

    def _if(self, node: ast.If, state: FollowedState, above: Expr) -> Way:
        condition = self.value(node.test, state)
        if constant(condition):
            return self.follow(node.body if condition else node.orelse, state, above)
        one, other = state.copy(), state.copy()
        way = self.follow(node.body, one, _and(above, condition))
        otherwise = self.follow(node.orelse, other, _and(above, _not(condition)))
        if way.ends != otherwise.ends:
            _put(state, other if way.ends else one)
        elif not way.ends:
            _merge(state, condition, one, other)
        on = (
            True
            if way.on is otherwise.on is True
            else _or(_and(condition, way.on), _and(_not(condition), otherwise.on))
        )
        return Way(way.ends and otherwise.ends, on)

    def _assign(self, node: ast.Assign, state: FollowedState, above: Expr) -> None:
        value = self._thing(node.value, state)
        for target in node.targets:
            self._store(target, value, state)

    def _annassign(self, node: ast.AnnAssign, state: FollowedState, above: Expr) -> None:
        if node.value is not None:
            self._store(node.target, self._thing(node.value, state), state)

    def _augassign(self, node: ast.AugAssign, state: FollowedState, above: Expr) -> None:
        self._store(node.target, UNKNOWN, state)

    def _expr(self, node: ast.Expr, state: FollowedState, above: Expr) -> Way | None:
        if not isinstance(node.value, ast.Call):
            return None
        name = ast.unparse(node.value.func)
        if name in _EXITS:
            return _RETURNS
        if name in ("parser.error", "argparser.error"):
            self._refuse(above, "SystemExit", node)
            return _RAISES
        self._called(node.value, state, above)
        return None

    def _with(self, node: ast.With, state: FollowedState, above: Expr) -> Way:
        return self.follow(node.body, state, above)

    def _try(self, node: ast.Try, state: FollowedState, above: Expr) -> None:
        self._held += bool(node.handlers)
        self.follow(node.body, state, above)
        self._held -= bool(node.handlers)
        for handler in node.handlers:
            self._forget(handler, state)
        self.follow(node.orelse, state, above)
        self.follow(node.finalbody, state, above)

    def _for(self, node: ast.For, state: FollowedState, above: Expr) -> None:
        rows = self.value(node.iter, state)
        jumps = any(isinstance(each, (ast.Continue, ast.Break)) for each in ast.walk(node))
        plain = isinstance(rows, list) and rows[0] == "l" and len(rows) <= _ROWS and not jumps
        if plain and isinstance(node.target, ast.Name):
            for row in rows[1:]:
                state.variables[node.target.id] = row
                self.follow(node.body, state, above)
        else:
            self._forget(node, state)

    # what is stored

    def _store(self, target: ast.expr, value: Any, state: FollowedState) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            values = value[1:] if isinstance(value, list) and value[0] == "l" else []
            for index, each in enumerate(target.elts):
                self._store(each, values[index] if index < len(values) else UNKNOWN, state)
        elif isinstance(target, ast.Name):
            kept = isinstance(state.variables.get(target.id), Root) and self.parsed is None
            if not kept or isinstance(value, Root):
                state.variables[target.id] = value
        elif (name := self._setting(target, state)) is not None:
            state.changed[name] = UNKNOWN if isinstance(value, Root) else value

    def _forget(self, node: ast.AST, state: FollowedState) -> None:
        for each in ast.walk(node):
            targets = each.targets if isinstance(each, ast.Assign) else [getattr(each, "target", None)]
            for target in targets if isinstance(each, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For)) else ():
                if target is not None:
                    self._store(target, UNKNOWN, state)

    def _called(self, node: ast.Call, state: FollowedState, above: Expr) -> None:
        """A call whose value nobody takes: it may change the settings."""
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if name == "setattr" and len(node.args) == 3 and isinstance(root := self._thing(node.args[0], state), Root):
            key = self.value(node.args[1], state)
            state.lost |= not isinstance(key, str)
            state.changed[f"{root.prefix}{key}"] = self.value(node.args[2], state)
            return
        if isinstance(owner, ast.Call) and getattr(owner.func, "id", "") == "super":
            self._base(name, node, state, above)
            return
        if isinstance(owner, ast.Name) and name in self.code.classes.get(owner.id, {}):
            self._inline(self.code.classes[owner.id][name], node, state, above, None)
            return
        if isinstance(owner, ast.Name) and not isinstance(state.variables.get(owner.id), Root):
            state.variables.pop(owner.id, None)  # `errors.append(...)`
        if owner is not None and isinstance(self._thing(owner, state), Root) and name in self.code.methods:
            self._inline(self.code.methods[name], node, state, above, self._thing(owner, state))
        elif owner is None and name in self.code.functions:
            self._inline(self.code.functions[name], node, state, above, None)
        elif name not in _HARMLESS and any(isinstance(self._thing(each, state), Root) for each in node.args):
            state.lost = True

    def _base(self, name: str, node: ast.Call, state: FollowedState, above: Expr) -> None:
        """`super().NAME()`: the next class that has another method of this name, else one of another package."""
        own = state.variables.get("self")
        here = [methods[name] for methods in self.code.classes.values() if name in methods]
        function = next((each for each in here if each not in self._within), None)
        if function is not None and isinstance(own, Root):
            self._inline(function, node, state, above, own)
        else:
            state.changed.update(dict.fromkeys(self.code.altered, UNKNOWN))

    def _inline(self, function: ast.FunctionDef, node: ast.Call, state: FollowedState, above: Expr, own: Any) -> None:
        if self._depth >= _DEEPEST:
            state.lost = True
            return
        parameters = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
        given = [*([own] if own is not None else []), *(self._thing(each, state) for each in node.args)]
        inner = FollowedState(dict(zip(parameters, given, strict=False)), state.changed, state.lost)
        inner.variables.update({each.arg: self._thing(each.value, state) for each in node.keywords if each.arg})
        self._depth, before = self._depth + 1, self._line
        self._line = getattr(function, "path", self._line)
        self._within.append(function)
        self._exits.append([])
        self.follow(function.body, inner, above)
        for condition, left in self._exits.pop():
            _merge(inner, condition, left, inner.copy())
        self._within.pop()
        self._depth, self._line = self._depth - 1, before
        state.changed, state.lost = inner.changed, inner.lost

    # values

    def value(self, node: ast.expr, state: FollowedState) -> Expr:
        """An expression as data."""
        thing = self._thing(node, state)
        return UNKNOWN if isinstance(thing, Root) else thing

    def _thing(self, node: ast.expr, state: FollowedState) -> Any:
        method = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        return UNKNOWN if method is None else method(node, state)

    def _of_constant(self, node: ast.Constant, state: FollowedState) -> Expr:
        return node.value if isinstance(node.value, (str, int, float, bool, type(None))) else UNKNOWN

    def _of_name(self, node: ast.Name, state: FollowedState) -> Any:
        if node.id in state.variables:
            return state.variables[node.id]
        return self.code.constants.get(node.id, UNKNOWN)

    def _of_attribute(self, node: ast.Attribute, state: FollowedState) -> Any:
        if isinstance(node.value, ast.Name) and f"{node.value.id}.{node.attr}" in self.code.enums:
            return self.code.enums[f"{node.value.id}.{node.attr}"]
        if node.attr == "value" and constant(inner := self._thing(node.value, state)) and isinstance(inner, str):
            return inner  # of a member of an enumeration
        name = self._setting(node, state)
        return UNKNOWN if name is None else self._looked_up(name, node, state)

    def _of_subscript(self, node: ast.Subscript, state: FollowedState) -> Any:
        name = self._setting(node, state)
        return UNKNOWN if name is None else self._looked_up(name, node, state)

    def _looked_up(self, name: str, node: ast.expr, state: FollowedState) -> Any:
        if state.lost:
            return UNKNOWN
        if name in state.changed:
            return state.changed[name]
        last = name.rpartition(".")[2]
        if last in _WORLD and isinstance(node, ast.Attribute):
            return ["n", _WORLD[last]]
        root = self._root(node, state)
        if root is not None and root.filled:
            return ["s", name]
        return ["g", name, None] if root is not None and root.raw else ["n", name]

    def _root(self, node: ast.expr, state: FollowedState) -> Root | None:
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        thing = state.variables.get(node.id) if isinstance(node, ast.Name) else None
        return thing if isinstance(thing, Root) else None

    def _setting(self, node: ast.expr, state: FollowedState) -> str | None:
        """Full name of the setting that an attribute or a key is."""
        if isinstance(node, ast.Attribute):
            key: Any = node.attr
        elif isinstance(node, ast.Subscript):
            key = self.value(node.slice, state)
        else:
            return None
        if not isinstance(key, str):
            return None
        owner = self._thing(node.value, state)
        if isinstance(owner, Root):
            return f"{owner.prefix}{key}"
        if isinstance(owner, list) and owner[0] in ("n", "g", "s"):
            return f"{owner[1]}.{key}"
        return None

    def _of_boolop(self, node: ast.BoolOp, state: FollowedState) -> Expr:
        parts = [self.value(each, state) for each in node.values]
        joined: Expr = parts[0]
        for part in parts[1:]:
            joined = (_and if isinstance(node.op, ast.And) else _or)(joined, part)
        return joined

    def _of_unaryop(self, node: ast.UnaryOp, state: FollowedState) -> Expr:
        inner = self.value(node.operand, state)
        if isinstance(node.op, ast.Not):
            return _not(inner)
        if isinstance(node.op, ast.USub):
            return -inner if isinstance(inner, (int, float)) else operation("-", 0, inner)
        return UNKNOWN

    def _of_compare(self, node: ast.Compare, state: FollowedState) -> Expr:
        values = [self.value(each, state) for each in (node.left, *node.comparators)]
        joined: Expr = True
        for index, each in enumerate(node.ops):
            joined = _and(joined, _compared(_COMPARE[type(each)], values[index], values[index + 1]))
        return joined

    def _of_binop(self, node: ast.BinOp, state: FollowedState) -> Expr:
        left, right = self.value(node.left, state), self.value(node.right, state)
        name = _ARITHMETIC.get(type(node.op))
        if name is None:
            return UNKNOWN
        if isinstance(left, (int, float)) and isinstance(right, (int, float)) and (right or name not in "//%"):
            return _COMPUTE[name](left, right)
        return UNKNOWN if name == "**" else operation(name, left, right)

    def _of_ifexp(self, node: ast.IfExp, state: FollowedState) -> Expr:
        return either(*(self.value(each, state) for each in (node.test, node.body, node.orelse)))

    def _of_tuple(self, node: ast.Tuple, state: FollowedState) -> Expr:
        parts = [self.value(each, state) for each in node.elts]
        return UNKNOWN if unknown(*parts) else ["l", *parts]

    _of_list = _of_set = _of_tuple

    def _of_namedexpr(self, node: ast.NamedExpr, state: FollowedState) -> Expr:
        value = self.value(node.value, state)
        state.variables[node.target.id] = value
        return value

    def _of_call(self, node: ast.Call, state: FollowedState) -> Any:
        arguments = [self._thing(each, state) for each in node.args]
        if self.parsed is not None and self._hands_on(node, arguments, state):
            state.lost = True
        if isinstance(node.func, ast.Name):
            return self._function(node.func.id, node, arguments, state)
        if isinstance(node.func, ast.Attribute):
            return self._method(node.func, arguments, state)
        return UNKNOWN

    def _hands_on(self, node: ast.Call, arguments: Sequence[Any], state: FollowedState) -> bool:
        """Whether a program gives its arguments to code that may change them."""
        given = [*arguments, *(self._thing(each.value, state) for each in node.keywords)]
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if not any(isinstance(each, Root) for each in given) or name in _HARMLESS | _READING:
            return False
        function = self.code.functions.get(name) if isinstance(node.func, ast.Name) else None
        return function is None or any(
            isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) for each in ast.walk(function)
        )

    def _function(self, name: str, node: ast.Call, arguments: list[Any], state: FollowedState) -> Any:
        if self.parsed is not None and name in self.code.functions and _parses(self.code.functions[name].body):
            return self.parsed
        if (
            name == "getattr"
            and len(arguments) > 1
            and isinstance(arguments[0], Root)
            and isinstance(arguments[1], str)
        ):
            return self._looked_up(f"{arguments[0].prefix}{arguments[1]}", node.args[0], state)
        if name in ("any", "all") and len(arguments) == 1 and isinstance(arguments[0], list) and arguments[0][0] == "l":
            return [{"any": "or", "all": "and"}[name], *arguments[0][1:]] if len(arguments[0]) > 1 else UNKNOWN
        if name == "sum" and node.args and isinstance(node.args[0], (ast.GeneratorExp, ast.ListComp)):
            return self._count(node.args[0], state)
        if name in ("set", "list", "tuple", "frozenset", "sorted", "str") and len(arguments) == 1:
            return arguments[0] if name != "str" or isinstance(arguments[0], str) else UNKNOWN
        if name == "isinstance" and len(node.args) == 2 and not isinstance(arguments[0], Root):
            wanted = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
            kinds = [getattr(each, "id", "") for each in wanted]
            plain = [each for each in kinds if each in _TYPES]  # what is written is no object of another class
            return operation("isa", arguments[0], ["l", *plain]) if plain else False
        if name in _FUNCTIONS and arguments and not any(isinstance(each, Root) for each in arguments):
            return operation(name, *arguments)
        if len(arguments) == 1 and any(each.startswith(f"{name}.") for each in self.code.enums):
            return arguments[0]  # an enumeration of texts
        return UNKNOWN

    def _count(self, made: ast.GeneratorExp | ast.ListComp, state: FollowedState) -> Expr:
        """`sum(1 for name in NAMES if settings.get(name))`: how many of several hold."""
        loop = made.generators[0]
        rows = self.value(loop.iter, state)
        if len(made.generators) != 1 or not isinstance(loop.target, ast.Name) or not isinstance(rows, list):
            return UNKNOWN
        if rows[0] != "l" or len(rows) > _ROWS:
            return UNKNOWN
        counted = []
        for row in rows[1:]:
            inner = state.copy()
            inner.variables[loop.target.id] = row
            tests = [self.value(each, inner) for each in loop.ifs] or [self.value(made.elt, inner)]
            counted.append(tests[0] if len(tests) == 1 else ["and", *tests])
        return UNKNOWN if unknown(*counted) else ["count", *counted]

    def _method(self, node: ast.Attribute, arguments: list[Any], state: FollowedState) -> Any:
        if self.parsed is not None and node.attr == "parse_args":
            return self.parsed
        if self.parsed is not None and (name := _variable(node, arguments)) is not None:
            return ["n", name]
        owner = self._thing(node.value, state)
        if node.attr == "get" and arguments and isinstance(arguments[0], str):
            default = arguments[1] if len(arguments) > 1 else None
            name = f"{owner.prefix}{arguments[0]}" if isinstance(owner, Root) else None
            if isinstance(owner, list) and owner[0] in ("n", "g", "s"):
                name = f"{owner[1]}.{arguments[0]}"
            if name is None or state.lost or not (constant(default) or default == ["l"]):
                return UNKNOWN
            return state.changed.get(name, ["g", name, default])
        if node.attr in _METHODS and not isinstance(owner, Root) and all(map(constant, arguments)):
            return operation(node.attr, owner, *arguments)
        return UNKNOWN


def _parses(body: Sequence[ast.stmt]) -> bool:
    """Whether a function gives what a parser of arguments gave it."""
    made = {
        target.id
        for each in body
        if isinstance(each, ast.Assign) and _is_parsing(each.value)
        for target in each.targets
        if isinstance(target, ast.Name)
    }
    last = body[-1] if body else None
    if not isinstance(last, ast.Return) or last.value is None:
        return False
    return _is_parsing(last.value) or (isinstance(last.value, ast.Name) and last.value.id in made)


def _is_parsing(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "parse_args"


def _variable(node: ast.Attribute, arguments: Sequence[Any]) -> str | None:
    """The number of processes, where `os.environ.get` or `os.getenv` asks for it."""
    asked = ast.unparse(node) in ("os.environ.get", "os.getenv") and arguments[:1] == ["WORLD_SIZE"]
    return "world.processes" if asked else None


def _compared(name: str, left: Expr, right: Expr) -> Expr:
    """A comparison; of two plain values its answer."""
    if constant(left) and constant(right) and name in ("==", "!=", "is", "is not"):
        return (left == right) is (name in ("==", "is"))
    return operation(name, left, right)


def _and(left: Expr, right: Expr) -> Expr:
    if constant(left):
        return right if left else left
    if right is True:
        return left
    return ["and", *(left[1:] if left[0] == "and" else [left]), *(right[1:] if _is(right, "and") else [right])]


def _or(left: Expr, right: Expr) -> Expr:
    if constant(left):
        return left or right
    if right is False:
        return left
    return ["or", *(left[1:] if left[0] == "or" else [left]), *(right[1:] if _is(right, "or") else [right])]


def _not(expr: Expr) -> Expr:
    if constant(expr):
        return not expr
    return expr[1] if expr[0] == "not" else UNKNOWN if unknown(expr) else ["not", expr]


def _is(expr: Expr, head: str) -> bool:
    return isinstance(expr, list) and expr[0] == head


def _put(state: FollowedState, other: FollowedState) -> None:
    state.variables, state.changed, state.lost = other.variables, other.changed, other.lost


def _merge(state: FollowedState, condition: Expr, one: FollowedState, other: FollowedState) -> None:
    state.lost = one.lost or other.lost
    for name in {*one.changed, *other.changed}:
        default = ["n", name]
        state.changed[name] = _either(condition, one.changed.get(name, default), other.changed.get(name, default))
    for name in {*one.variables, *other.variables}:
        left, right = (each.variables.get(name, UNKNOWN) for each in (one, other))
        same = left == right or isinstance(left, Root) or isinstance(right, Root)
        state.variables[name] = (left if isinstance(left, Root) else right) if same and left != right else (
            left if left == right else _either(condition, left, right)
        )  # fmt: skip


def _either(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    return UNKNOWN if unknown(condition) and then != otherwise else either(condition, then, otherwise)


def fields_of(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr | None, ast.expr]]:
    """(name, default, annotation) of the annotated fields of a class."""
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            yield each.target.id, each.value, each.annotation

"""Values of expressions in the user's source, as far as they can be told without running it."""
# ruff: noqa: PTH118, PTH119, PTH120, PTH122 (the user's own path arithmetic on text, which pathlib would normalise)

from __future__ import annotations

import ast
import operator
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from typing import Any

from doctor.base.record import distinct
from doctor.readers.script.ast_names import CannotTell, Names, Spot
from doctor.readers.script.ast_scopes import AttributeChange, dotted_text
from doctor.readers.script.config_files import LOADERS, ConfigFiles

_LARGEST_EXPONENT = 64
_LARGEST_NUMBER = 10**30
_LONGEST = 65536  # characters of a string, elements of a list
_STEPS = 200_000  # expressions looked at for one script

#: torch's names of types; `torch.bfloat16` is read as "bfloat16", as the libraries' own configuration files write it
TORCH_DTYPES = frozenset({
    "bfloat16", "float16", "half", "float32", "float", "float64", "double", "float8_e4m3fn", "float8_e5m2", "int8",
    "uint8",
})  # fmt: skip
_DTYPE_ALIASES = {"half": "float16", "float": "float32", "double": "float64"}

#: enumerations whose members are written as their lower-case names in configuration files (transformers.trainer_utils);
#: peft.TaskType keeps its names as they are (peft.utils.peft_types)
_LOWER_ENUMS = frozenset({"IntervalStrategy", "EvaluationStrategy", "SaveStrategy", "HubStrategy"})
_UPPER_ENUMS = frozenset({"TaskType"})

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_CONVERSIONS: dict[str, Callable[[Any], Any]] = {"int": int, "float": float, "str": str, "bool": bool, "list": list}
_CALCULATIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "round": round,
    "abs": abs,
    "len": len,
    "sum": sum,
}
_MUTATORS = frozenset({
    "append", "extend", "insert", "remove", "pop", "clear", "update", "setdefault", "popitem", "sort", "reverse", "add",
    "discard", "__setitem__",
})  # fmt: skip
_HARMLESS_READERS = frozenset({
    "print", "len", "dict", "str", "repr", "list", "sorted", "json.dumps", "json.dump", "copy.copy", "copy.deepcopy",
    "deepcopy", "pprint", "pprint.pprint", "yaml.dump", "isinstance", "type", "bool",
})  # fmt: skip


@distinct
class DictEntry:
    """One key of a dictionary in the source: where it stands, and its value (None: changed in ways not followed)."""

    key: ast.AST
    value: ast.expr | None
    spot: Spot


@distinct
class Entries:
    """Keys of a dictionary. `complete` is False when there may be more."""

    items: dict[str, DictEntry] = field(default_factory=dict)
    complete: bool = True


class Values:
    """Folds constants: literals, names bound to them, arithmetic, paths, keys of files that the source opens.

    Args:
        names: what names of the source stand for.
        cwd: the folder in which the command runs; None where no file is opened.

    """

    def __init__(self, names: Names, cwd: str | None = None) -> None:
        self.names = names
        self.files = ConfigFiles(names, cwd, self.fold_typed)
        self.option: Callable[[ast.Attribute, Spot], Any] | None = None  # what the command gives to `args.name`
        self.word: Callable[[ast.AST], Any] | None = None  # and to `sys.argv[1]`
        self._typed = False
        self._steps_left = _STEPS

    def typed_word(self, position: ast.AST) -> Any:
        """`sys.argv[1]`, where what is typed counts.

        Raises:
            CannotTell: it does not, or the command does not show it.

        """
        if not self._typed or self.word is None:
            raise CannotTell
        return self.word(position)

    def fold_typed(self, node: ast.AST, spot: Spot) -> Any:
        """Value of an expression, with what the command line gives to the script's own options.

        Raises:
            CannotTell: it depends on more than that.

        """
        before, self._typed = self._typed, True
        try:
            return self.fold(node, spot)
        finally:
            self._typed = before

    def fold(self, node: ast.AST, spot: Spot) -> Any:
        """Value of an expression.

        Raises:
            CannotTell: it depends on what happens when the program runs.

        """
        handler = _FOLD.get(type(node))
        self._steps_left -= 1
        if handler is None or self._steps_left < 0:
            raise CannotTell
        try:
            return _bounded(handler(self, node, spot))
        except (TypeError, ValueError, ArithmeticError, LookupError, RecursionError) as exc:
            raise CannotTell from exc

    # --- names ------------------------------------------------------------------------------------------------

    def name(self, node: ast.Name, spot: Spot) -> Any:
        """Value of a name where it stands."""
        if node.id == "__file__":
            return spot.module.source.path
        binding, at = self.names.binding(node.id, spot)
        if self.mutated(node.id, spot):
            if isinstance(binding.value, (ast.Dict, ast.Call)):
                return self.dictionary(node, spot)
            raise CannotTell
        return self.bound(binding, at, node.id)

    def bound(self, binding: Any, at: Spot, name: str) -> Any:
        """Value of a binding found at a spot."""
        if binding.parameter:
            value, caller = self.names.argument(name, at)
            return self.fold_typed(value, caller)
        if binding.imported:
            other, there = self.names.exported(binding.imported, at)
            return self.bound(other, there, binding.imported.rpartition(".")[2])
        if binding.value is None:
            raise CannotTell
        value = self.fold(binding.value, at)
        return value if binding.index is None else value[binding.index]

    def mutated(self, name: str, spot: Spot) -> bool:
        """Whether a list or dictionary of that name is changed in place anywhere in the module."""
        if any(each.base == name and not each.attribute for each in spot.module.changes):
            return True
        return any(
            isinstance(site.node.func, ast.Attribute)
            and site.node.func.attr in _MUTATORS
            and isinstance(site.node.func.value, ast.Name)
            and site.node.func.value.id == name
            for site in spot.module.calls_touching(name)
        )

    def attribute(self, node: ast.Attribute, spot: Spot) -> Any:
        """Value of an attribute where it stands."""
        origin = self.names.origin(node, spot)
        head, _, last = origin.rpartition(".")
        if head == "torch" and last in TORCH_DTYPES:
            return _DTYPE_ALIASES.get(last, last)
        enum = head.rpartition(".")[2]
        if enum in _LOWER_ENUMS:
            return last.lower()
        if enum in _UPPER_ENUMS:
            return last
        if origin in {"math.inf", "numpy.inf"}:
            return float("inf")
        if node.attr in {"parent", "name", "stem"}:
            return _path_part(self.fold(node.value, spot), node.attr)
        if isinstance(node.value, ast.Name) and self.names.imported(node.value.id, spot):
            binding, there = self.names.exported(origin, spot)
            return self.bound(binding, there, last)
        if self._typed and self.option is not None:
            with suppress(CannotTell):
                return self.option(node, spot)
        return self._class_attribute(node, spot)

    def _class_attribute(self, node: ast.Attribute, spot: Spot) -> Any:
        """`Settings.lr`, or `settings.lr` where `settings = Settings()` and the class only holds constants."""
        base = dotted_text(node.value)
        if base is None or any(each.base == base and each.key == node.attr for each in spot.module.changes):
            raise CannotTell
        binding, at = self.names.binding(base.partition(".")[0], spot)
        value = binding.value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and not (value.args or value.keywords):
            name = value.func.id
            binding, at = self.names.binding(name, at)
            value = binding.value
            if any(each.base == name and each.key == node.attr for each in at.module.changes):
                raise CannotTell
        if not isinstance(value, ast.ClassDef) or "." in base:
            raise CannotTell
        scope = at.module.scopes[value]
        inner, there = self.names.binding(node.attr, at.at(scope, 10**9))
        if there.scope is not scope:
            raise CannotTell
        return self.bound(inner, there, node.attr)

    # --- dictionaries -----------------------------------------------------------------------------------------

    def dictionary(self, node: ast.AST, spot: Spot) -> dict[str, Any]:
        """A dictionary all of whose keys and values can be told."""
        entries = self.entries(node, spot)
        if not entries.complete:
            raise CannotTell
        return {key: self.entry(each) for key, each in entries.items.items()}

    def entry(self, entry: DictEntry) -> Any:
        """Value of one key."""
        if entry.value is None:
            raise CannotTell
        return self.fold(entry.value, entry.spot)

    def entries(self, node: ast.AST, spot: Spot) -> Entries:
        """Keys of a dictionary expression; keys that are not literal strings make it incomplete."""
        try:
            if isinstance(node, ast.Dict):
                return self._literal_entries(node, spot)
            if isinstance(node, ast.Call):
                return self._call_entries(node, spot)
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
                return _merged(self.entries(node.left, spot), self.entries(node.right, spot))
            if isinstance(node, ast.Name):
                return self._named_entries(node, spot)
            if isinstance(node, ast.Subscript):
                return self._inner_entries(node, spot)
        except CannotTell:
            pass
        return Entries(complete=False)

    def _inner_entries(self, node: ast.Subscript, spot: Spot) -> Entries:
        """`CONFIG["inner"]`"""
        outer = self.entries(node.value, spot)
        found = outer.items.get(str(self.fold(node.slice, spot)))
        if found is None or found.value is None:
            raise CannotTell
        inner = self.entries(found.value, found.spot.at(found.spot.scope, found.spot.line))
        return Entries(inner.items, inner.complete and outer.complete)

    def _literal_entries(self, node: ast.Dict, spot: Spot) -> Entries:
        found = Entries()
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                found = _merged(found, self.entries(value, spot))
                continue
            try:
                name = self.fold(key, spot)
            except CannotTell:
                found.complete = False
                continue
            found.items[str(name)] = DictEntry(key, value, spot)
        return found

    def _call_entries(self, node: ast.Call, spot: Spot) -> Entries:
        origin = self.names.origin(node.func, spot)
        if origin in {"copy.copy", "copy.deepcopy"} and len(node.args) == 1:
            return self.entries(node.args[0], spot)
        if origin in LOADERS:
            return self.entries(*self.files.tree(node, spot))
        if isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
            return self._entries_of_get(node, node.func.value, spot)
        if origin != "dict" or len(node.args) > 1:
            return Entries(complete=False)
        return self._arguments_of_dict(node, spot)

    def _entries_of_get(self, node: ast.Call, owner: ast.expr, spot: Spot) -> Entries:
        """`config.get("inner", {})`"""
        found = self.got(node, owner, spot)
        if found.value is None:
            raise CannotTell
        return self.entries(found.value, found.spot)

    def got(self, node: ast.Call, owner: ast.expr, spot: Spot) -> DictEntry:
        """What `owner.get(key, default)` gives: the entry, or the default where the key is known to be absent.

        Raises:
            CannotTell: the dictionary may have the key and may not.

        """
        entries, key = self.entries(owner, spot), str(self.fold(node.args[0], spot))
        if key in entries.items:
            return entries.items[key]
        if not entries.complete or node.keywords:
            raise CannotTell
        default = node.args[1] if len(node.args) > 1 else ast.copy_location(ast.Constant(None), node)
        return DictEntry(default, default, spot)

    def _arguments_of_dict(self, node: ast.Call, spot: Spot) -> Entries:
        found = self.entries(node.args[0], spot) if node.args else Entries()
        for keyword in node.keywords:
            if keyword.arg is None:
                found = _merged(found, self.entries(keyword.value, spot))
            else:
                found.items[keyword.arg] = DictEntry(keyword, keyword.value, spot)
        return found

    def _named_entries(self, node: ast.Name, spot: Spot) -> Entries:
        binding, at = self.names.binding(node.id, spot)
        if binding.parameter:
            value, caller = self.names.argument(node.id, at)
            return self.entries(value, caller)
        if binding.imported:
            binding, at = self.names.exported(binding.imported, at)
        if binding.value is None or binding.index is not None:
            raise CannotTell
        found = self.entries(binding.value, at)
        self._apply_changes(node.id, found, spot, at)
        return found

    def _apply_changes(self, name: str, found: Entries, spot: Spot, at: Spot) -> None:
        """Lay `cfg["x"] = 1` and `cfg.update(x=1)` over a dictionary; what may or may not happen unsettles a key."""
        for change in spot.module.changes:
            if change.base == name and not change.attribute and self._may_happen(change, spot):
                self._apply_item(change, found, spot, at)
        for site in spot.module.calls_touching(name):
            function = site.node.func
            certain = _certain(site.conditional, site.scope, site.node.lineno, spot, at)
            if certain is None:
                continue
            if isinstance(function, ast.Attribute) and dotted_text(function.value) == name:
                self._apply_method(site.node, function.attr, found, spot, certain=certain)
            elif _hands_over(site.node, name, self.names.origin(function, spot)):
                found.complete = False

    def _may_happen(self, change: AttributeChange, spot: Spot) -> bool:
        """Whether the conditions around a change can hold: `if args.steps is not None: config["steps"] = ...`."""
        for test, wanted in change.tests or ():
            with suppress(CannotTell):
                if bool(self.fold_typed(test, spot.at(change.scope, test.lineno))) != wanted:
                    return False
        return True

    def _apply_item(self, change: AttributeChange, found: Entries, spot: Spot, at: Spot) -> None:
        line = getattr(change.node, "lineno", 0)
        certain = _certain(change.conditional, change.scope, line, spot, at)
        if certain is None:
            return
        there = spot.at(change.scope, line)
        try:
            key = str(self.fold(change.key, there)) if isinstance(change.key, ast.AST) else change.key
        except CannotTell:
            found.complete = False
            found.items = {name: DictEntry(each.key, None, each.spot) for name, each in found.items.items()}
            return
        if isinstance(getattr(change.node, "ctx", None), ast.Del):  # `del cfg["model"]`
            found.items.pop(key, None)
            found.complete = found.complete and certain
        elif certain and change.value is not None:
            found.items[key] = DictEntry(change.node, change.value, there)
        else:
            _unsettle(found, [key], change.node, spot)

    def _apply_method(self, call: ast.Call, method: str, found: Entries, spot: Spot, *, certain: bool) -> None:
        if method not in _MUTATORS:
            return
        if method == "update":
            added = self._arguments_of_dict(call, spot) if len(call.args) <= 1 else Entries(complete=False)
            if certain and added.complete:
                found.items.update(added.items)
                return
            touched = list(added.items) if added.complete else [*found.items, *added.items]
        elif method == "pop":
            self._take_out(call, found, spot, certain=certain)
            return
        else:
            touched = self._first_key(call, spot) or list(found.items)
        _unsettle(found, touched, call, spot)

    def _take_out(self, call: ast.Call, found: Entries, spot: Spot, *, certain: bool) -> None:
        """`cfg.pop("model")`: the key is gone behind it; of one that may be gone nothing is said."""
        keys = self._first_key(call, spot)
        for key in keys or list(found.items):
            found.items.pop(key, None)
        found.complete = found.complete and certain and bool(keys)

    def _first_key(self, call: ast.Call, spot: Spot) -> list[str]:
        try:
            return [str(self.fold(call.args[0], spot))] if call.args else []
        except CannotTell:
            return []

    # --- calls ------------------------------------------------------------------------------------------------

    def call(self, node: ast.Call, spot: Spot) -> Any:
        """Value that a call gives, of those that need not be run."""
        origin = self.names.origin(node.func, spot)
        if origin == "dict":
            return self.dictionary(node, spot)
        if isinstance(node.func, ast.Attribute) and node.func.attr in {"resolve", "absolute", "as_posix"}:
            return self.fold(node.func.value, spot)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
            return self.entry(self.got(node, node.func.value, spot))
        if origin == "getattr" and len(node.args) > 1:
            attribute = ast.Attribute(node.args[0], str(self.fold(node.args[1], spot)), ast.Load())
            return self.attribute(ast.copy_location(attribute, node), spot)
        if node.keywords:
            raise CannotTell
        values = [self.fold(each, spot) for each in node.args]
        if origin in _CONVERSIONS and len(values) == 1:
            return _CONVERSIONS[origin](values[0])
        if origin in {"pathlib.Path", "os.path.join", "pathlib.PurePath"} and values:
            return os.path.join(*(str(each) for each in values))
        if origin in {"os.path.dirname", "os.path.abspath", "os.path.realpath", "os.path.basename"}:
            text = str(values[0])
            if origin == "os.path.dirname":
                return os.path.dirname(text)
            return os.path.basename(text) if origin == "os.path.basename" else text
        if origin in _CALCULATIONS and not any(isinstance(each, dict) for each in values):
            return _CALCULATIONS[origin](*values)
        raise CannotTell


def _bounded(value: Any) -> Any:
    if isinstance(value, (str, list)) and len(value) > _LONGEST:
        raise CannotTell
    return value


def _unsettle(found: Entries, names: list[str], node: ast.AST, spot: Spot) -> None:
    """Keys that a branch may change lose their values; keys that it may add are only known to be possible."""
    found.complete = False
    for name in names:
        if name in found.items:
            found.items[name] = DictEntry(node, None, spot)


def _path_part(value: Any, part: str) -> str:
    text = str(value)
    if part == "parent":
        return os.path.dirname(text)
    base = os.path.basename(text)
    return base if part == "name" else os.path.splitext(base)[0]


def _merged(first: Entries, second: Entries) -> Entries:
    """`{**first, **second}`: what `second` hides may replace anything in `first`."""
    if not second.complete:
        kept = {name: DictEntry(each.key, None, each.spot) for name, each in first.items.items()}
        return Entries({**kept, **second.items}, complete=False)
    return Entries({**first.items, **second.items}, first.complete)


def _certain(conditional: bool, scope: Any, line: int, spot: Spot, at: Spot) -> bool | None:
    """Whether a change has happened at `spot` to what was bound at `at`: yes, maybe (False), or no (None)."""
    if scope is at.scope and scope is spot.scope:
        if line < at.line or line >= spot.line:  # a change is no part of what it is made of
            return None
        return not conditional
    return False


def _hands_over(call: ast.Call, name: str, origin: str) -> bool:
    """Whether a call gives a dictionary away to code that may change it."""
    last = origin.rpartition(".")[2]
    if origin in _HARMLESS_READERS or last[:1].isupper() or origin.startswith(("wandb.", "logging.", "logger.")):
        return False
    given = [*call.args, *(each.value for each in call.keywords if each.arg is not None)]
    return any(isinstance(each, ast.Name) and each.id == name for each in given)


# --- one function per kind of expression ---------------------------------------------------------------------------


def _constant(_: Values, node: ast.Constant, spot: Spot) -> Any:  # noqa: ARG001
    if isinstance(node.value, (bytes, complex)) or node.value is Ellipsis:
        raise CannotTell
    return node.value


def _elements(values: Values, nodes: list[ast.expr], spot: Spot) -> list[Any]:
    found: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            found.extend(values.fold(node.value, spot))
        else:
            found.append(values.fold(node, spot))
    return found


def _unary(values: Values, node: ast.UnaryOp, spot: Spot) -> Any:
    return _UNARY[type(node.op)](values.fold(node.operand, spot))


def _binary(values: Values, node: ast.BinOp, spot: Spot) -> Any:
    left, right = values.fold(node.left, spot), values.fold(node.right, spot)
    kind = type(node.op)
    if isinstance(left, str) and isinstance(right, str):
        if kind is ast.Add:
            return left + right
        if kind is ast.Div:  # pathlib; strings themselves cannot be divided
            return os.path.join(left, right)
        raise CannotTell
    if isinstance(left, list) and isinstance(right, list) and kind is ast.Add:
        return left + right
    numbers = isinstance(left, (int, float)) and isinstance(right, (int, float))
    if not numbers or kind not in _BINARY or abs(left) > _LARGEST_NUMBER or abs(right) > _LARGEST_NUMBER:
        raise CannotTell
    if kind in {ast.Pow, ast.LShift} and abs(right) > _LARGEST_EXPONENT:
        raise CannotTell
    return _BINARY[kind](left, right)


def _joined(values: Values, node: ast.JoinedStr, spot: Spot) -> str:
    parts = []
    for each in node.values:
        if isinstance(each, ast.FormattedValue):
            if each.format_spec is not None or each.conversion not in {-1, ord("s")}:
                raise CannotTell
            parts.append(str(values.fold(each.value, spot)))
        else:
            parts.append(str(values.fold(each, spot)))
    return "".join(parts)


def _choice(values: Values, node: ast.IfExp, spot: Spot) -> Any:
    return values.fold(node.body if values.fold(node.test, spot) else node.orelse, spot)


def _boolean(values: Values, node: ast.BoolOp, spot: Spot) -> Any:
    wanted = isinstance(node.op, ast.Or)
    value: Any = None
    for each in node.values:
        value = values.fold(each, spot)
        if bool(value) == wanted:
            return value
    return value


def _compare(values: Values, node: ast.Compare, spot: Spot) -> bool:
    if len(node.ops) != 1 or type(node.ops[0]) not in _COMPARE:
        raise CannotTell
    return _COMPARE[type(node.ops[0])](values.fold(node.left, spot), values.fold(node.comparators[0], spot))


def _subscript(values: Values, node: ast.Subscript, spot: Spot) -> Any:
    if values.names.origin(node.value, spot) == "sys.argv":
        return values.typed_word(node.slice)
    key = values.fold(node.slice, spot)
    if isinstance(key, str):
        entries = values.entries(node.value, spot)
        if key in entries.items:
            return values.entry(entries.items[key])
        raise CannotTell
    return values.fold(node.value, spot)[key]


_FOLD: dict[type[ast.AST], Callable[[Values, Any, Spot], Any]] = {
    ast.Constant: _constant,
    ast.Name: Values.name,
    ast.Attribute: Values.attribute,
    ast.List: lambda values, node, spot: _elements(values, node.elts, spot),
    ast.Tuple: lambda values, node, spot: tuple(_elements(values, node.elts, spot)),
    ast.Set: lambda values, node, spot: set(_elements(values, node.elts, spot)),
    ast.Dict: Values.dictionary,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.JoinedStr: _joined,
    ast.IfExp: _choice,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.Subscript: _subscript,
    ast.Call: Values.call,
}

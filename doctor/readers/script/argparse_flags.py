"""Options that a script declares on a plain `argparse` parser."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from doctor.base.record import distinct
from doctor.facts.script import Flag
from doctor.readers.script.ast_names import CannotTell, Spot
from doctor.readers.script.ast_scopes import CallSite, Module, NameScope
from doctor.readers.script.ast_settings import clean
from doctor.readers.script.ast_values import Values
from doctor.readers.script.typed_options import Typed, converted

_TYPES = frozenset({"int", "float", "str", "bool"})
_PARSED = frozenset({"parse_args", "parse_known_args"})
#: a parser of parts, of which a command uses some; defaults that are set elsewhere
_DIVIDED = frozenset({"add_subparsers", "set_defaults", "add_parser"})


def read(module: Module, values: Values) -> tuple[dict[str, Flag], str | None]:
    """Flags by destination, and the name that the parsed namespace is bound to (None: not seen)."""
    if not any(each.dotted.partition(".")[0] == "argparse" for each in module.imports):
        return {}, None
    flags: dict[str, Flag] = {}
    alone = _one_parser(module)
    for site in module.calls:
        if getattr(site.node.func, "attr", "") == "add_argument" and site.node.args:
            flag = _flag(site, module, values, alone=alone)
            if flag is not None:
                flags[flag.destination] = flag
    return flags, _variable(module)


@distinct
class FlagValues:
    """What a command gives to the options of a script; None of them where its words are not known.

    Args:
        module: the script.
        values: folds its expressions.
        words: those behind the script on the command line.

    """

    module: Module
    values: Values
    words: Sequence[str] | None

    @cached_property
    def _flags(self) -> dict[str, Flag]:
        return read(self.module, self.values)[0]

    def __call__(self, node: ast.Attribute, spot: Spot) -> Any:
        """Value of `args.name`.

        Raises:
            CannotTell: it is no option of the script, or the command does not show what it is given.

        """
        flag = self._flags.get(node.attr)
        if self.words is None or flag is None or not self._is_namespace(node.value, spot):
            raise CannotTell
        typed = Typed.of(self.words).word(flag, self._flags)
        if typed is not None and flag.converts_to:
            return converted(typed, flag)
        if typed is None and flag.has_default:
            return converted(flag.default, flag) if isinstance(flag.default, str) else flag.default
        raise CannotTell

    def word(self, position: ast.AST) -> str:
        """Value of `sys.argv[1]`: the first word behind the script.

        Raises:
            CannotTell: the command does not show it, or the script changes its words.

        """
        at = position.value if isinstance(position, ast.Constant) else None
        changed = any(each.base == "sys.argv" for each in self.module.changes)
        if self.words is None or not isinstance(at, int) or not 0 < at <= len(self.words) or changed:
            raise CannotTell
        return self.words[at - 1]

    def _is_namespace(self, node: ast.expr, spot: Spot) -> bool:
        """Whether an expression is what the parser gives, or a name of it."""
        if not isinstance(node, ast.Name):
            return _is_parsed(node, self.module)
        binding, _ = self.values.names.binding(node.id, spot)
        return _is_parsed(binding.value, self.module) and not binding.index


def _variable(module: Module) -> str | None:
    for scope in module.scopes.values():
        for name, bindings in scope.bindings.items():
            if any(_is_parsed(each.value, module) and not each.index for each in bindings):
                return name
    return None


def _is_parsed(value: ast.AST | None, module: Module) -> bool:
    """Whether an expression is `parser.parse_args()`, or a call of a function of the module that returns it."""
    if not isinstance(value, ast.Call):
        return False
    if getattr(value.func, "attr", "") in _PARSED:
        return True
    made = module.scope.bindings.get(value.func.id, ()) if isinstance(value.func, ast.Name) else ()
    function = made[0].value if len(made) == 1 else None
    if not isinstance(function, ast.FunctionDef):
        return False
    returned = [each.value for each in ast.walk(function) if isinstance(each, ast.Return) and each.value is not None]
    return len(returned) == 1 and _returns_parsed(returned[0], module.scopes[function])


def _returns_parsed(value: ast.expr, scope: NameScope) -> bool:
    if isinstance(value, ast.Name):
        bound = scope.bindings.get(value.id, ())
        return len(bound) == 1 and not bound[0].index and getattr(_function(bound[0].value), "attr", "") in _PARSED
    return getattr(_function(value), "attr", "") in _PARSED


def _function(value: ast.AST | None) -> ast.expr | None:
    return value.func if isinstance(value, ast.Call) else None


def _one_parser(module: Module) -> bool:
    """Whether all options are those of one parser, which reads the command line itself."""
    names = [getattr(site.node.func, "attr", getattr(site.node.func, "id", "")) for site in module.calls]
    parsed = [site for site in module.calls if getattr(site.node.func, "attr", "") in _PARSED]
    reads = len(parsed) == 1 and not (parsed[0].node.args or parsed[0].node.keywords or parsed[0].conditional)
    return names.count("ArgumentParser") == 1 and not _DIVIDED.intersection(names) and reads


def _flag(site: CallSite, module: Module, values: Values, *, alone: bool) -> Flag | None:
    """An option; `alone`: no other parser may be meant to have it."""
    spot = Spot(module, site.scope, site.node.lineno)
    try:
        names = tuple(str(values.fold(each, spot)) for each in site.node.args)
    except CannotTell:
        return None
    keywords = {each.arg: each.value for each in site.node.keywords if each.arg}
    action = _folded(values, keywords.get("action"), spot)
    long = next((each for each in names if each.startswith("--")), names[0])
    destination = _folded(values, keywords.get("dest"), spot) or long.lstrip("-").replace("-", "_")
    switch = action in {"store_true", "store_false"}
    has_default = switch or not site.conditional
    default: object = None
    if "default" in keywords:
        try:
            default = clean(str(destination), values.fold(keywords["default"], spot))
        except CannotTell:
            has_default = False
    elif switch:
        default = action == "store_false"
    elif _folded(values, keywords.get("required"), spot) or not long.startswith("-"):
        has_default = False
    kind = keywords.get("type")
    name = kind.id if isinstance(kind, ast.Name) else ("str" if kind is None else "")
    if "nargs" in keywords or ("action" in keywords and action != "store"):
        name = ""  # a list, a count, a class of the user's
    return Flag(
        destination=str(destination),
        place=module.source.place(site.node),
        names=names,
        default=default,
        has_default=has_default,
        converts_to="bool" if switch else name if name in _TYPES else "",
        constant=(action == "store_true") if switch else _folded(values, keywords.get("const"), spot),
        takes_value=not switch,
        required=alone and not site.conditional and _folded(values, keywords.get("required"), spot) is True,
    )


def _folded(values: Values, node: ast.expr | None, spot: Spot) -> object:
    if node is None:
        return None
    try:
        value: object = values.fold(node, spot)
    except CannotTell:
        return None
    return value

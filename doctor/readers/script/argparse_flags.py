"""Options that a script declares on a plain `argparse` parser."""

from __future__ import annotations

import ast

from doctor.facts.script import Flag
from doctor.readers.script.ast_names import CannotTell, Spot
from doctor.readers.script.ast_scopes import CallSite, Module
from doctor.readers.script.ast_settings import clean
from doctor.readers.script.ast_values import Values

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


def _variable(module: Module) -> str | None:
    for scope in module.scopes.values():
        for name, bindings in scope.bindings.items():
            for each in bindings:
                value = each.value
                if isinstance(value, ast.Call) and getattr(value.func, "attr", "") in _PARSED and not each.index:
                    return name
    return None


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

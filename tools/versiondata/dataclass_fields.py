"""Reading dataclass fields, constructor parameters and deprecation notes out of Python source, without running it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

LONGEST_DEFAULT = 120  # characters; a longer default (a table of layer names) is cut, and ends with an ellipsis
_HELP_DEPRECATES = re.compile(r"^(This (argument|parameter) is )?deprecated(?! in `)", re.IGNORECASE)
_USE_INSTEAD = re.compile(r"\b(?:use of|use the|use|alias of|alias for)\s+[`'\"]?(?:--)?(\w+)\b(?!=)", re.IGNORECASE)


@dataclass(frozen=True)
class Argument:
    """One argument: ``default`` is source text, None for a required one; ``warning`` is what its help says of its
    deprecation.
    """

    default: str | None
    warning: str | None = None


@dataclass
class SourceClass:
    """A class definition found in a wheel."""

    name: str
    module: str
    bases: tuple[str, ...]  # as named in this module's scope, after undoing `import X as _X`
    own: dict[str, Argument] = field(default_factory=dict)
    warnings: dict[str, str] = field(
        default_factory=dict
    )  # argument -> text of the deprecation warning in __post_init__
    parameters: dict[str, Argument] = field(default_factory=dict)  # of __init__
    passes_on: bool = True  # __init__ takes **kwargs, or there is none
    shim: bool = False  # only warns and inherits everything from the class of the same name elsewhere


def classes_of(sources: Mapping[str, str]) -> dict[str, list[SourceClass]]:
    """All classes with annotated fields, by name, from source texts by path."""
    found: dict[str, list[SourceClass]] = {}
    for path, text in sources.items():
        tree = parse(text)
        if tree is None:
            continue
        aliases = _aliases(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                each = _source_class(node, path, aliases)
                found.setdefault(each.name, []).append(each)
    return found


def parse(text: str) -> ast.Module | None:
    """The syntax tree of a file, None where this interpreter cannot read it (templates, other dialects)."""
    try:
        return ast.parse(text)
    except SyntaxError:
        return None


def _aliases(tree: ast.Module) -> dict[str, str]:
    return {
        name.asname: name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for name in node.names
        if name.asname
    }


def _source_class(node: ast.ClassDef, path: str, aliases: Mapping[str, str]) -> SourceClass:
    named = [ast.unparse(base).rpartition(".")[2] for base in node.bases if not isinstance(base, ast.Subscript)]
    bases = tuple(aliases.get(base, base) for base in named)
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return SourceClass(
        name=node.name,
        module=module,
        bases=bases,
        own=own_fields(node),
        warnings=_post_init_warnings(node),
        parameters=constructor_parameters(node)[0],
        passes_on=constructor_parameters(node)[1],
        shim=node.name in bases,
    )


def own_fields(node: ast.ClassDef) -> dict[str, Argument]:
    """Fields that a dataclass body declares, in order; class variables and fields kept out of ``__init__`` are left
    out.
    """
    found = {}
    for statement in node.body:
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        if "ClassVar" in ast.unparse(statement.annotation):
            continue
        argument = _argument_of(statement.value)
        if argument is not None:
            found[statement.target.id] = argument
    return found


def _argument_of(value: ast.expr | None) -> Argument | None:
    if value is None:
        return Argument(default=None)
    if not (isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] == "field"):
        return Argument(default=source_text(value))
    given = {each.arg: each.value for each in value.keywords if each.arg}
    kept_out = given.get("init")
    if isinstance(kept_out, ast.Constant) and kept_out.value is False:
        return None
    return Argument(default=_field_default(given), warning=deprecation_in(_help_of(given.get("metadata"))))


def _field_default(given: Mapping[str, ast.expr]) -> str | None:
    if "default" in given:
        return source_text(given["default"])
    factory = given.get("default_factory")
    if factory is None:
        return None
    if isinstance(factory, ast.Lambda):
        return source_text(factory.body)
    name = ast.unparse(factory)
    return {"list": "[]", "dict": "{}", "set": "set()"}.get(name, f"{name}()")


def source_text(node: ast.expr) -> str:
    """A default as normalised source text, cut where it is very long."""
    text = ast.unparse(node)
    return text if len(text) <= LONGEST_DEFAULT else text[: LONGEST_DEFAULT - 1] + "…"


def _help_of(metadata: ast.expr | None) -> str:
    if not isinstance(metadata, ast.Dict):
        return ""
    for key, value in zip(metadata.keys, metadata.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == "help":
            return literal_text(value)
    return ""


def literal_text(node: ast.AST) -> str:
    """All string literals below a node, joined: what an f-string or a concatenation says, without its holes."""
    parts = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return " ".join("".join(parts).split())


def deprecation_in(text: str) -> str | None:
    """A help text when it calls its argument deprecated, else None (it may mention some other deprecation)."""
    return text if _HELP_DEPRECATES.search(text) else None


def deprecates(text: str, name: str) -> bool:
    """Whether a warning calls the argument itself deprecated: neither one value of it, nor another name that contains
    it.
    """
    quoted = rf"(?<![\w.])(?:--)?{re.escape(name)}[`'\"]?"
    if re.search(rf"\bfor [`'\"]?{quoted}", text):
        return False
    return re.search(quoted + r"( argument| parameter)?( and \S+)? (is|are) deprecated", text) is not None


def replacement_in(text: str) -> str | None:
    """The name that a deprecation note tells to use instead, None when it names none plainly."""
    found = _USE_INSTEAD.search(text)
    return found.group(1) if found else None


def _post_init_warnings(node: ast.ClassDef) -> dict[str, str]:
    """Arguments whose use makes ``__post_init__`` warn that they are deprecated: ``if self.NAME ...: warn(...)``."""
    found: dict[str, str] = {}
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__post_init__":
            for branch in ast.walk(method):
                if isinstance(branch, ast.If):
                    text = " ".join(_warned(branch.body))
                    for name in _self_attributes(branch.test):
                        if deprecates(text, name):
                            found.setdefault(name, text)
    return found


def _warned(statements: list[ast.stmt]) -> Iterator[str]:
    for statement in statements:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            called = ast.unparse(statement.value.func)
            if called.rpartition(".")[2] in ("warn", "warning", "warning_once"):
                yield literal_text(statement.value)


def _self_attributes(test: ast.expr) -> list[str]:
    return [
        each.attr
        for each in ast.walk(test)
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == "self"
    ]


def constructor_parameters(node: ast.ClassDef) -> tuple[dict[str, Argument], bool]:
    """Parameters of a class's ``__init__`` without self, and whether it passes further keywords on (``**kwargs``).

    A parameter that a ``deprecate_kwarg`` decorator still accepts counts, as deprecated. A class without ``__init__``
    passes all on.
    """
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            return {**_parameters(method), **_renamed(method)}, method.args.kwarg is not None
    return {}, True


def _parameters(method: ast.FunctionDef) -> dict[str, Argument]:
    spec = method.args
    positional = [*spec.posonlyargs, *spec.args][1:]
    missing = len(positional) - len(spec.defaults)
    defaults: list[ast.expr | None] = [None] * missing + list(spec.defaults)
    pairs = [*zip(positional, defaults, strict=True), *zip(spec.kwonlyargs, spec.kw_defaults, strict=True)]
    return {each.arg: Argument(default=None if value is None else source_text(value)) for each, value in pairs}


def _renamed(method: ast.FunctionDef) -> dict[str, Argument]:
    """Old names that ``@deprecate_kwarg("old", new_name="new", ...)`` still lets through."""
    found = {}
    for decorator in method.decorator_list:
        if (
            isinstance(decorator, ast.Call)
            and ast.unparse(decorator.func).endswith("deprecate_kwarg")
            and decorator.args
        ):
            new = [each.value for each in decorator.keywords if each.arg == "new_name"]
            text = f"deprecated, use `{literal_text(new[0])}`" if new else "deprecated"
            found[literal_text(decorator.args[0])] = Argument(default="None", warning=text)
    return found


def all_fields(classes: Mapping[str, list[SourceClass]], name: str) -> dict[str, Argument]:
    """Fields of a dataclass, those of its bases first, as far as the bases are among the classes read."""
    found: dict[str, Argument] = {}
    for definition in classes.get(name, ())[:1]:
        for base in reversed(definition.bases):
            found.update(all_fields(classes, base))
        found.update(with_warnings(definition))
    return found


def with_warnings(definition: SourceClass) -> dict[str, Argument]:
    """A class's own fields, those that its ``__post_init__`` calls deprecated marked so."""
    warned = {
        name: Argument(default=definition.own[name].default, warning=text)
        for name, text in definition.warnings.items()
        if name in definition.own
    }
    return {**definition.own, **warned}

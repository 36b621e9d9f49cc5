"""What one Python file offers and asks for, by `ast`: names, classes, parameters, imports of followed libraries."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

#: dictionaries of lazily imported names: Transformers and TRL, huggingface_hub, vLLM, pydantic
_LAZY_TABLES = re.compile(r"_?import_structure|_SUBMOD_ATTRS|_?MODULE_ATTRS|_dynamic_imports|_?LAZY_\w+")
_USE_INSTEAD = re.compile(
    r"(?:use|in favou?r of|replaced (?:by|with)|renamed to)\s+(?:the\s+)?[`'\"]([\w.]+)(?:\(\))?[`'\"]", re.IGNORECASE
)
_DEPRECATES = re.compile(r"deprecat|will be removed|no longer supported|renamed", re.IGNORECASE)
_SET_ON_SELF = re.compile(
    r"\b(?:self|cls)\.(\w+)(?=\s*(?:,\s*self\.\w+\s*)*(?::[^=\n]*)?[-+*/|&]?=(?!=))"
    r"|\bself\.(?:register_(?:buffer|parameter|module)|add_module)\(\s*['\"](\w+)"
)
_SHIM_LINES = 25  # a class of few lines that warns and inherits is the old name of its base


@dataclass
class Function:
    """Parameters by keyword, those without a default, and whether any other keyword is let through."""

    parameters: tuple[str, ...]
    required: frozenset[str]
    open: bool


@dataclass
class Class:
    """A class: bases as written, attributes of its own, methods; `fields` of a dataclass in order (None: not one)."""

    name: str
    bases: tuple[str, ...]
    attributes: frozenset[str]
    methods: dict[str, Function]
    fields: dict[str, bool] | None  # name -> required
    dynamic: bool


@dataclass
class Surface:
    """What a file defines (`defined`), imports from its own package (`origins`: name -> module, name there), takes by
    `*` from other modules (`stars`), and asks of other packages (`asks`: module, name or "").

    `dynamic`: names may come from code that is not read. `offers_all`: what the modules below it export is offered
    here, as Transformers' `define_import_structure` does: of the top package, those below its `models`. `exports_more`:
    `__all__` holds more than the literals in `exported`. `borrowed` names come from other packages.
    """

    defined: set[str] = field(default_factory=set)
    origins: dict[str, tuple[str, str]] = field(default_factory=dict)
    borrowed: set[str] = field(default_factory=set)
    lazy: set[str] = field(default_factory=set)
    stars: list[str] = field(default_factory=list)
    exported: set[str] | None = None
    asks: set[tuple[str, str]] = field(default_factory=set)
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    instead: dict[str, str] = field(default_factory=dict)
    dynamic: bool = False
    offers_all: bool = False
    exports_more: bool = False


def surface_of(
    text: str, module: str, *, is_package: bool, followed: frozenset[str], outline: bool = False
) -> Surface | None:
    """Read one file; None where this interpreter cannot (another dialect, a template).

    Args:
        text: its source.
        module: its dotted name, the package's for an `__init__.py`.
        is_package: it is an `__init__.py`.
        followed: top packages whose names are asked for.
        outline: leave out what stands in functions and classes, which is ten times as fast.

    """
    if outline:
        short = outline_of(text)
        found = surface_of(short, module, is_package=is_package, followed=followed)
        if found is not None:
            return found
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return _Reader(module, is_package, followed, text).read(tree)


class _Reader:
    def __init__(self, module: str, is_package: bool, followed: frozenset[str], text: str) -> None:
        self._lines = text.splitlines()
        self._package = module.partition(".")[0]
        self._parts = module.split(".") if is_package else module.split(".")[:-1]
        self._followed = followed
        self._found = Surface()
        self._has_getattr = False

    def read(self, tree: ast.Module) -> Surface:
        for statement in _flat(tree.body):
            self._statement(statement)
        self._asks(tree.body, guarded=False)
        found = self._found
        if self._has_getattr and not found.lazy and found.exported is None:
            found.dynamic = True
        if self._has_getattr:  # what is listed and not defined here, it makes, whatever its table is called
            found.lazy |= found.exported or set()
        return found

    def _statement(self, node: ast.stmt) -> None:
        found = self._found
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.defined.add(node.name)
            found.functions[node.name] = function_of(node, method=False)
            self._has_getattr = self._has_getattr or node.name == "__getattr__"
            _note_instead(found, node, self._text(node))
        elif isinstance(node, ast.ClassDef):
            found.defined.add(node.name)
            found.classes[node.name] = class_of(node, self._text(node))
            _note_instead(found, node, self._text(node))
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            self._assigned(node)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self._imported(node)
        elif isinstance(node, ast.Expr):
            self._lazy_added(node)

    def _text(self, node: ast.stmt) -> str:
        return "\n".join(self._lines[node.lineno - 1 : node.end_lineno])

    def _assigned(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        found = self._found
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            for name in _names_of(target):
                found.defined.add(name)
                if name == "__all__":
                    found.exported = (found.exported or set()) | set(_identifiers(node.value))
                    found.exports_more |= any(
                        isinstance(each, (ast.Attribute, ast.comprehension)) for each in _below(node)
                    )
                elif name == "__getattr__":
                    self._has_getattr = True
                elif isinstance(node.value, ast.Name) and isinstance(node, ast.Assign):
                    found.aliases[name] = node.value.id
            base = target.value if isinstance(target, ast.Subscript) else target
            base_name = base.id if isinstance(base, ast.Name) else ""
            if _LAZY_TABLES.fullmatch(base_name) and node.value is not None:
                found.lazy.update(_identifiers(node.value))
            text = ast.unparse(target) if isinstance(target, ast.Subscript) else ""
            replaced = text.startswith("sys.modules[__name__]")
            found.offers_all |= replaced and "define_import_structure" in ast.unparse(node)
            found.offers_all |= base_name == "import_structure" and "define_import_structure" in ast.unparse(node)
            if text.startswith("globals()") or (replaced and not found.lazy and not found.offers_all):
                found.dynamic = True

    def _lazy_added(self, node: ast.Expr) -> None:
        call = node.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return
        owner = call.func.value
        base = owner.value if isinstance(owner, ast.Subscript) else owner
        name = base.id if isinstance(base, ast.Name) else ""
        if _LAZY_TABLES.fullmatch(name):
            self._found.lazy.update(each for argument in call.args for each in _identifiers(argument))
        elif name == "__all__":
            self._found.exported = (self._found.exported or set()) | {
                each for argument in call.args for each in _identifiers(argument)
            }
        elif call.func.attr == "update" and ast.unparse(call.func) == "globals().update":
            self._found.dynamic = True

    def _imported(self, node: ast.Import | ast.ImportFrom) -> None:
        found = self._found
        if isinstance(node, ast.Import):
            found.borrowed.update((each.asname or each.name).partition(".")[0] for each in node.names)
            return
        module = self._absolute(node)
        inside = module.partition(".")[0] == self._package
        for each in node.names:
            if each.name == "*":
                found.stars.append(module)
            elif inside:
                found.origins[each.asname or each.name] = (module, each.name)
            else:
                found.borrowed.add(each.asname or each.name)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        kept = self._parts[: len(self._parts) - node.level + 1]
        return ".".join([*kept, *([node.module] if node.module else [])])

    def _asks(self, body: list[ast.stmt], *, guarded: bool) -> None:
        """Collect imports of followed packages that nothing catches and no test of a version stands before."""
        for node in body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                if not guarded:
                    self._ask(node)
                continue
            inner = guarded
            if isinstance(node, ast.Try):
                self._asks(node.body, guarded=guarded or bool(node.handlers))
                self._asks([each for handler in node.handlers for each in handler.body], guarded=True)
                self._asks([*node.orelse, *node.finalbody], guarded=guarded)
                continue
            if isinstance(node, ast.If):
                inner = (
                    guarded or re.search(r"version|TYPE_CHECKING|hasattr|[<>]=?", ast.unparse(node.test)) is not None
                )
                self._asks(node.orelse, guarded=inner)
            self._asks([each for each in getattr(node, "body", ()) if isinstance(each, ast.stmt)], guarded=inner)

    def _ask(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            asked = [(each.name, "") for each in node.names]
        else:
            module = self._absolute(node)
            asked = [(module, "" if each.name == "*" else each.name) for each in node.names]
        for module, name in asked:
            if module.partition(".")[0] in self._followed and module.partition(".")[0] != self._package:
                self._found.asks.add((module, name))


def function_of(node: ast.FunctionDef | ast.AsyncFunctionDef, *, method: bool) -> Function:
    """Parameters of a definition, without the first one of a method; keywords that a decorator renames count."""
    spec = node.args
    positional = [each.arg for each in (*spec.posonlyargs, *spec.args)]
    without_default = positional[: len(positional) - len(spec.defaults)]
    static = any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in node.decorator_list)
    skip = 1 if method and not static else 0
    keyword_only = [each.arg for each in spec.kwonlyargs]
    needed = {each.arg for each, value in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if value is None}
    renamed = [each for decorator in node.decorator_list for each in _renamed(decorator)]
    return Function(
        tuple(dict.fromkeys([*positional[skip:], *keyword_only, *renamed])),
        frozenset({*without_default[skip:], *needed}),
        spec.kwarg is not None or any(_hides(each) for each in node.decorator_list),
    )


def _renamed(decorator: ast.expr) -> Iterator[str]:
    if isinstance(decorator, ast.Call) and re.search(r"deprecat|rename", ast.unparse(decorator.func)):
        yield from (each for argument in decorator.args for each in _identifiers(argument))


def _hides(decorator: ast.expr) -> bool:
    """Whether a decorator may take keywords that the definition does not show."""
    return re.search(r"deprecate_(kwargs|args)|_deprecate_(arguments|positional)", ast.unparse(decorator)) is not None


def class_of(node: ast.ClassDef, text: str) -> Class:
    """Attributes that a class body and its methods set, methods with their parameters, fields of a dataclass."""
    attributes = {match[1] or match[2] for match in _SET_ON_SELF.finditer(text)}
    methods: dict[str, Function] = {}
    dynamic = False
    for statement in _flat(node.body):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            attributes.add(statement.name)
            methods[statement.name] = function_of(statement, method=True)
            dynamic = dynamic or statement.name in ("__getattr__", "__getattribute__")
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
                attributes.update(_names_of(target))
        elif isinstance(statement, ast.ClassDef):
            attributes.add(statement.name)
    bases = tuple(ast.unparse(each.value if isinstance(each, ast.Subscript) else each) for each in node.bases)
    return Class(node.name, bases, frozenset(attributes), methods, _fields(node), dynamic)


def _fields(node: ast.ClassDef) -> dict[str, bool] | None:
    if not any(re.search(r"\bdataclass\b|^config$", ast.unparse(each)) for each in node.decorator_list):
        return None
    found = {}
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            text = ast.unparse(statement.value) if statement.value is not None else ""
            if "ClassVar" in ast.unparse(statement.annotation) or re.search(r"\binit=False", text):
                continue
            found[statement.target.id] = not text or (text.startswith("field(") and "default" not in text)
    return found


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a body and of the branches in it, in order."""
    for node in body:
        if isinstance(node, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
            yield from _flat(node.body)
            yield from _flat(getattr(node, "orelse", []))
            yield from _flat([each for handler in getattr(node, "handlers", ()) for each in handler.body])
            yield from _flat(getattr(node, "finalbody", []))
        else:
            yield node


def _names_of(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from _names_of(each)


def _below(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> Iterator[ast.AST]:
    return ast.walk(node.value) if node.value is not None else iter(())


def _identifiers(node: ast.AST | None) -> Iterator[str]:
    """Yield the string literals below a node that could be names."""
    for each in ast.walk(node) if node is not None else ():
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value.isidentifier():
            yield each.value


def _note_instead(found: Surface, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, text: str) -> None:
    """Keep the one name that a deprecated definition tells to use instead of itself."""
    if not _DEPRECATES.search(text):
        return
    named: set[str] = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and node.name in each.value:
            named.update(_USE_INSTEAD.findall(each.value) if _DEPRECATES.search(each.value) else ())
    named.discard(node.name)
    if len(named) == 1:
        found.instead[node.name] = named.pop()
        return
    base = node.bases[0] if isinstance(node, ast.ClassDef) and len(node.bases) == 1 else None
    if isinstance(base, ast.Name) and text.count("\n") < _SHIM_LINES and "warn" in text:
        found.instead.setdefault(node.name, base.id)


def outline_of(text: str) -> str:
    """A source without the bodies of its functions and classes (what it says is lost, that it is there stays)."""
    kept: list[str] = []
    state = "outside"
    for line in text.splitlines():
        if state == "body":
            if not line or line[0] in " \t#)":
                continue
            state = "outside"
        if state == "outside" and line.startswith(("def ", "class ", "async def ")):
            state = "header"
        if state == "header" and line.partition("  #")[0].rstrip().endswith(":"):
            kept.append(f"{line.partition('  #')[0].rstrip()} pass")
            state = "body"
        else:
            kept.append(line)
    return "\n".join(kept)

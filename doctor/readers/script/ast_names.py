"""Follows names in the user's source to what they are bound to, through imports, parameters and modules beside it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

from doctor.base.record import distinct
from doctor.readers.script.ast_scopes import Binding, FunctionNode, Module, NameScope, dotted_text
from doctor.readers.script.python_source import ParsedFile, SourceNotReadable, parse, read_regular

MODULE_LIMIT = 20  # files next to the script that are read
MODULE_LIMIT_BYTES = 1024 * 1024
_DEPTH_LIMIT = 24


class CannotTell(Exception):  # noqa: N818 - an answer, not an error
    """What an expression gives cannot be known without running the program."""


@distinct
class Spot:
    """Where an expression is read: names are looked up from here. `depth` ends circles."""

    module: Module
    scope: NameScope
    line: int
    depth: int = 0

    def at(self, scope: NameScope, line: int, module: Module | None = None) -> Spot:
        """One step further.

        Raises:
            CannotTell: too many steps (a name that leads back to itself).

        """
        if self.depth >= _DEPTH_LIMIT:
            raise CannotTell
        return Spot(module or self.module, scope, line, self.depth + 1)


class Project:
    """The script and the modules beside it that it imports, read when first asked for."""

    def __init__(self, folder: str, walk: Callable[[ParsedFile], Module]) -> None:
        self.folder = folder
        self._walk = walk
        self._modules: dict[str, Module | None] = {}

    @property
    def modules(self) -> dict[str, Module]:
        """Dotted name -> module, for those that were found."""
        return {name: each for name, each in self._modules.items() if each is not None}

    def module(self, dotted: str) -> Module | None:
        """A module beside the script (`rewards`, `utils.rewards`), None when there is none or it cannot be read."""
        dotted = dotted.lstrip(".")
        if dotted not in self._modules:
            self._modules[dotted] = None
            if len(self._modules) <= MODULE_LIMIT and all(part.isidentifier() for part in dotted.split(".")):
                self._modules[dotted] = self._read(dotted)
        return self._modules[dotted]

    def peek(self, dotted: str, limit_bytes: int) -> bytes:
        """Content of a module beside the script that was not read yet; empty when there is none of that size."""
        if dotted in self._modules or not all(part.isidentifier() for part in dotted.split(".")):
            return b""
        for path in self._paths(dotted):
            try:
                return read_regular(path, limit_bytes)
            except SourceNotReadable:
                continue
        return b""

    def _paths(self, dotted: str) -> tuple[str, str]:
        base = Path(self.folder, *dotted.split("."))
        return f"{base}.py", str(base / "__init__.py")

    def _read(self, dotted: str) -> Module | None:
        for path in self._paths(dotted):
            try:
                parsed = parse(read_regular(path, MODULE_LIMIT_BYTES), path)
                return self._walk(parsed) if isinstance(parsed, ParsedFile) else None
            except SourceNotReadable:
                continue
            except RecursionError:
                return None
        return None

    def find(self, dotted: str) -> tuple[Module, str] | None:
        """Module beside the script and the name in it that `module.name` stands for."""
        head, _, last = dotted.rpartition(".")
        if not head.strip("."):
            return None
        module = self.module(head)
        return (module, last) if module is not None else None


class Names:
    """Looks names up as Python would, as far as that can be told from the source."""

    def __init__(self, project: Project) -> None:
        self.project = project

    def binding(self, name: str, spot: Spot) -> tuple[Binding, Spot]:
        """The binding that a name has at a spot, and the spot of that binding.

        Raises:
            CannotTell: unbound, or bound in several ways of which the source does not say which.

        """
        scope: NameScope | None = spot.scope
        while scope is not None:
            if name in scope.bindings and (scope is spot.scope or not scope.is_class):
                chosen = _choose(scope.bindings[name], spot.line if scope is spot.scope else None)
                return chosen, spot.at(scope, chosen.line)
            scope = scope.parent
        raise CannotTell

    def all_bindings(self, name: str, spot: Spot) -> list[tuple[Binding, Spot]]:
        """Every binding that a name may have at a spot, in the order of the source."""
        scope: NameScope | None = spot.scope
        while scope is not None:
            if name in scope.bindings and (scope is spot.scope or not scope.is_class):
                same, found = scope is spot.scope, scope.bindings[name]
                before = [each for each in found if each.line < spot.line] if same else found
                return [(each, spot.at(scope, each.line)) for each in before]
            scope = scope.parent
        return []

    def origin(self, node: ast.AST, spot: Spot) -> str:
        """Full dotted name of `trl.GRPOConfig` or `C` after imports; the text itself when it is not imported."""
        text = dotted_text(node)
        if text is None:
            return ""
        head, _, rest = text.partition(".")
        imported = self.imported(head, spot)
        if imported is None:
            return text
        return f"{imported}.{rest}" if rest else imported

    def imported(self, name: str, spot: Spot) -> str | None:
        """Dotted name that a name was imported from, None when it was not imported."""
        scope: NameScope | None = spot.scope
        while scope is not None:
            bindings = scope.bindings.get(name)
            if bindings and (scope is spot.scope or not scope.is_class):
                return next((each.imported for each in bindings if each.imported), None)
            scope = scope.parent
        return None

    def exported(self, dotted: str, spot: Spot) -> tuple[Binding, Spot]:
        """Binding of a name that a module beside the script gives.

        Raises:
            CannotTell: there is no such module, or the name has no single value in it.

        """
        found = self.project.find(dotted)
        if found is None:
            raise CannotTell
        module, name = found
        here = spot.at(module.scope, _END, module)
        return self.binding(name, here)

    def argument(self, name: str, spot: Spot) -> tuple[ast.expr, Spot]:
        """What the only caller of a function passes for a parameter, or the parameter's default.

        Raises:
            CannotTell: not exactly one call, or the function is also handed around.

        """
        function = spot.scope.node
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or spot.scope.parent is None:
            raise CannotTell
        if spot.scope.parent.is_class or function.decorator_list:
            raise CannotTell
        sites = [
            site
            for site in spot.module.calls
            if isinstance(site.node.func, ast.Name) and site.node.func.id == function.name
        ]
        if len(sites) != 1 or spot.module.loads.get(function.name) != 1:
            raise CannotTell
        site = sites[0]
        passed = passed_argument(function, site.node, name)
        if passed is not None:
            return passed, spot.at(site.scope, site.node.lineno)
        default = _default(function, name)
        if default is None:
            raise CannotTell
        return default, spot.at(spot.scope.parent, function.lineno)


_END = 10**9  # behind the last line of a module


def _choose(bindings: list[Binding], line: int | None) -> Binding:
    """The binding in force: the only one, or the last before `line` when neither it nor a later one is conditional."""
    if len(bindings) == 1:
        return bindings[0]
    before = [each for each in bindings if line is not None and each.line < line]
    if not before or any(each.conditional and each.line >= before[-1].line for each in bindings):
        raise CannotTell
    return before[-1]


def passed_argument(function: FunctionNode, call: ast.Call, name: str) -> ast.expr | None:
    """Expression that a call passes for a parameter, None when it passes none.

    Raises:
        CannotTell: `*args` or `**kwargs` hide it.

    """
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        raise CannotTell
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    positional = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    if name in positional and positional.index(name) < len(call.args):
        return call.args[positional.index(name)]
    return None


def _default(function: FunctionNode, name: str) -> ast.expr | None:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    padded = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    for argument, default in zip(positional, padded, strict=True):
        if argument.arg == name:
            return default
    for argument, keyword_default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if argument.arg == name:
            return keyword_default
    return None

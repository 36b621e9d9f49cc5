"""What a module binds and calls, gathered in one walk: scopes, imports, calls, changes to attributes and keys."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Optional, Union

from doctor.base.record import distinct
from doctor.readers.script.python_source import ParsedFile

FunctionNode = Union[ast.FunctionDef, ast.AsyncFunctionDef]  # Python 3.9: nodes of a cluster import it


@distinct
class Binding:
    """One way in which a name gets a value.

    `value` is the expression bound (for `a, b = f()` with `index`), a function or class definition, or None when it
    cannot be followed. `imported` is a dotted name. `conditional` when the statement need not run. `entered` is what a
    `with` enters.
    """

    value: ast.AST | None
    line: int
    conditional: bool = False
    index: int | None = None
    imported: str | None = None
    parameter: bool = False
    entered: ast.expr | None = None


@distinct
class NameScope:
    """Names of a module, a function or a class body."""

    node: ast.AST
    parent: NameScope | None = None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)

    @property
    def is_class(self) -> bool:
        """Whether these are the names of a class body, which functions in it do not see."""
        return isinstance(self.node, ast.ClassDef)

    def bind(self, name: str, binding: Binding) -> None:
        """Add a binding of a name."""
        self.bindings.setdefault(name, []).append(binding)


@distinct
class CallSite:
    """A call with the scope that it stands in. `target`: the name that its result is bound to."""

    node: ast.Call
    scope: NameScope
    conditional: bool


#: conditions with what each must give; None where they are not followed
Tests = Optional[tuple[tuple[ast.expr, bool], ...]]


@distinct
class AttributeChange:
    """`base.key = value`, `base[key] = value` or `del base[key]` (value None); base is a name or `self.name`.

    `tests`: conditions of the `if`s around it, each with what it must give; None where something else decides as well.
    """

    base: str
    key: ast.expr | str
    value: ast.expr | None
    node: ast.AST
    scope: NameScope
    conditional: bool
    attribute: bool
    tests: Tests = ()


@distinct
class Import:
    """One imported name; `dotted` begins with dots when it is relative."""

    dotted: str
    node: ast.AST


@distinct
class Module:
    """Everything that one walk over a file found."""

    source: ParsedFile
    scope: NameScope
    imports: list[Import] = field(default_factory=list)
    star_imports: list[str] = field(default_factory=list)
    calls: list[CallSite] = field(default_factory=list)
    changes: list[AttributeChange] = field(default_factory=list)
    targets: dict[ast.expr, str] = field(default_factory=dict)  # value expression -> name it is bound to
    scopes: dict[ast.AST, NameScope] = field(default_factory=dict)  # function or class -> its names
    loads: dict[str, int] = field(default_factory=dict)  # name -> how often it is read
    guarded: set[ast.Call] = field(default_factory=set)  # calls under `if __name__ == "__main__"`
    _touching: dict[str, list[CallSite]] | None = None

    def calls_touching(self, name: str) -> list[CallSite]:
        """Calls of a method of `name`, and calls that are given it, in the order of `calls`."""
        if self._touching is None:  # once for all names: a file of thousands of calls asks for hundreds
            self._touching = {}
            for site in self.calls:
                for each in _touched_by(site.node):
                    self._touching.setdefault(each, []).append(site)
        return self._touching.get(name, [])


def walk(source: ParsedFile) -> Module:
    """Gather scopes and calls of a module.

    Raises:
        RecursionError: the source nests deeper than Python's own stack.

    """
    return _Walker(source).run()


def dotted_text(node: ast.AST) -> str | None:
    """`a.b.c` of a chain of attributes on a name, None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))


def _touched_by(call: ast.Call) -> set[str]:
    """Names that a call may change: what its method belongs to, and the names that it is given."""
    given = (*call.args, *(each.value for each in call.keywords))
    names = {each.id for each in given if isinstance(each, ast.Name)}
    owner = dotted_text(call.func.value) if isinstance(call.func, ast.Attribute) else None
    return names | {owner} if owner is not None else names


def _is_main_guard(test: ast.expr) -> bool:
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = (test.left, test.comparators[0])
    return any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)


class _Walker:
    """The walk itself: one method per kind of statement; expressions are searched with an explicit stack."""

    def __init__(self, source: ParsedFile) -> None:
        scope = NameScope(source.tree)
        self.module = Module(source, scope, scopes={source.tree: scope})
        self.scope = scope
        self.conditional = False
        self.tests: Tests = ()
        self.in_guard = False

    def run(self) -> Module:
        self.block(self.module.source.tree.body)
        return self.module

    def block(self, statements: Iterable[ast.stmt], *, conditional: bool = False, tests: Tests = None) -> None:
        """Walk statements; `tests` of an `if` decide on them, or nothing that is followed (None)."""
        before = self.conditional, self.tests
        if conditional:
            self.conditional = True
            self.tests = None if tests is None or self.tests is None else (*self.tests, *tests)
        for statement in statements:
            handler = getattr(self, f"visit_{type(statement).__name__}", None)
            if handler is not None:
                handler(statement)
            else:
                self.expressions(ast.iter_child_nodes(statement))
        self.conditional, self.tests = before

    # --- statements that bind ---------------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> None:  # noqa: N802
        self.expressions((node.value,))
        for target in node.targets:
            self.assign(target, node.value, node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:  # noqa: N802
        if node.value is None:
            return
        self.expressions((node.value,))
        self.assign(node.target, node.value, node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:  # noqa: N802
        self.expressions((node.value,))
        if isinstance(node.target, ast.Name):
            self.opaque(node.target.id, node)
        else:
            self.assign(node.target, None, node)

    def assign(self, target: ast.expr, value: ast.expr | None, node: ast.stmt, index: int | None = None) -> None:
        """Bind one target of an assignment."""
        if isinstance(target, ast.Name):
            self.scope.bind(target.id, Binding(value, node.lineno, self.conditional, index))
            if value is not None and index is None:
                self.module.targets[value] = target.id
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value, node)
        elif isinstance(target, ast.Attribute):
            self.expressions((target.value,))
            base = dotted_text(target.value)
            if base is not None:
                known = value if index is None else None
                self.change(
                    AttributeChange(base, target.attr, known, target, self.scope, self.conditional, attribute=True)
                )
                if base == "self" and value is not None and index is None:
                    self.module.targets.setdefault(value, f"self.{target.attr}")
        elif isinstance(target, ast.Subscript):
            self.expressions((target.value, target.slice))
            base = dotted_text(target.value)
            if base is not None:
                known = value if index is None else None
                self.change(
                    AttributeChange(base, target.slice, known, target, self.scope, self.conditional, attribute=False)
                )

    def _unpack(self, target: ast.Tuple | ast.List, value: ast.expr | None, node: ast.stmt) -> None:
        starred = any(isinstance(each, ast.Starred) for each in target.elts)
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts) and not starred:
            for each, part in zip(target.elts, value.elts, strict=True):
                self.assign(each, part, node)
            return
        for position, each in enumerate(target.elts):
            if isinstance(each, ast.Starred):
                self.names_in(each, node)
                value = None  # what follows a starred target has no fixed position
            else:
                self.assign(each, value, node, position)

    def change(self, change: AttributeChange) -> None:
        change.tests = self.tests
        self.module.changes.append(change)

    def opaque(self, name: str, node: ast.AST) -> None:
        """Bind a name to something that is not followed."""
        self.scope.bind(name, Binding(None, getattr(node, "lineno", 0), self.conditional))

    def names_in(self, target: ast.AST, node: ast.AST) -> None:
        """Bind every name of a target to something that is not followed."""
        for each in ast.walk(target):
            if isinstance(each, ast.Name):
                self.opaque(each.id, node)

    def visit_Delete(self, node: ast.Delete) -> None:  # noqa: N802
        for target in node.targets:
            if isinstance(target, ast.Subscript) and (base := dotted_text(target.value)):
                change = AttributeChange(
                    base, target.slice, None, target, self.scope, self.conditional, attribute=False
                )
                self.change(change)

    def visit_Global(self, node: ast.Global) -> None:  # noqa: N802
        for name in node.names:
            self.module.scope.bind(name, Binding(None, node.lineno, conditional=True))

    def visit_Import(self, node: ast.Import) -> None:  # noqa: N802
        for alias in node.names:
            self.module.imports.append(Import(alias.name, alias))
            name = alias.asname or alias.name.split(".", maxsplit=1)[0]
            dotted = alias.name if alias.asname else name
            self.scope.bind(name, Binding(None, node.lineno, self.conditional, imported=dotted))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:  # noqa: N802
        origin = "." * node.level + (node.module or "")
        for alias in node.names:
            if alias.name == "*":
                self.module.star_imports.append(origin)
                self.module.imports.append(Import(f"{origin}.*", alias))
                continue
            dotted = f"{origin}{alias.name}" if origin.endswith(".") else f"{origin}.{alias.name}"
            self.module.imports.append(Import(dotted, alias))
            binding = Binding(None, node.lineno, self.conditional, imported=dotted)
            self.scope.bind(alias.asname or alias.name, binding)

    # --- blocks -----------------------------------------------------------------------------------------------

    def visit_If(self, node: ast.If) -> None:  # noqa: N802
        failed: list[tuple[ast.expr, bool]] = []
        while True:  # an `elif` chain is a list, however the tree nests it
            self.expressions((node.test,))
            if _is_main_guard(node.test):
                before, self.in_guard = self.in_guard, True
                self.block(node.body)
                self.in_guard = before
            else:
                self.block(node.body, conditional=True, tests=(*failed, (node.test, True)))
            failed.append((node.test, False))
            if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
                node = node.orelse[0]
                continue
            self.block(node.orelse, conditional=True, tests=tuple(failed))
            return

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:  # noqa: N802
        self.expressions((node.iter,))
        before, self.conditional = self.conditional, True
        self.names_in(node.target, node)
        self.conditional = before
        self.block(node.body, conditional=True)
        self.block(node.orelse, conditional=True)

    visit_AsyncFor = visit_For  # noqa: N815

    def visit_While(self, node: ast.While) -> None:  # noqa: N802
        self.expressions((node.test,))
        self.block(node.body, conditional=True)
        self.block(node.orelse, conditional=True)

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:  # noqa: N802
        for item in node.items:
            self.expressions((item.context_expr,))
            if isinstance(item.optional_vars, ast.Name):
                binding = Binding(None, node.lineno, self.conditional, entered=item.context_expr)
                self.scope.bind(item.optional_vars.id, binding)
            elif item.optional_vars is not None:
                self.names_in(item.optional_vars, node)
        self.block(node.body)

    visit_AsyncWith = visit_With  # noqa: N815

    def visit_Try(self, node: ast.Try) -> None:  # noqa: N802
        self.block(node.body)
        for handler in node.handlers:
            if handler.name:
                self.opaque(handler.name, handler)
            self.block(handler.body, conditional=True)
        self.block(node.orelse)
        self.block(node.finalbody)

    visit_TryStar = visit_Try  # noqa: N815

    def visit_Match(self, node: ast.Match) -> None:  # noqa: N802
        self.expressions((node.subject,))
        for case in node.cases:
            for each in ast.walk(case.pattern):
                name = getattr(each, "name", None) or getattr(each, "rest", None)
                if isinstance(name, str):
                    self.opaque(name, node)
            self.block(case.body, conditional=True)

    # --- scopes -----------------------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: FunctionNode) -> None:  # noqa: N802
        self.scope.bind(node.name, Binding(node, node.lineno, self.conditional))
        self.expressions([*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)])
        outer, before = self.scope, (self.conditional, self.tests)
        self.scope = NameScope(node, outer)
        self.conditional, self.tests = False, ()
        self.module.scopes[node] = self.scope
        for argument in _all_parameters(node.args):
            self.scope.bind(argument.arg, Binding(None, node.lineno, parameter=True))
        self.block(node.body)
        self.scope, (self.conditional, self.tests) = outer, before

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> None:  # noqa: N802
        self.scope.bind(node.name, Binding(node, node.lineno, self.conditional))
        self.expressions([*node.decorator_list, *node.bases])
        outer = self.scope
        self.scope = NameScope(node, outer)
        self.module.scopes[node] = self.scope
        self.block(node.body)
        self.scope = outer

    # --- expressions ------------------------------------------------------------------------------------------

    def expressions(self, nodes: Iterable[ast.AST]) -> None:
        """Note calls and names read in expressions; what comprehensions and lambdas bind is not followed."""
        stack = list(nodes)
        while stack:
            node = stack.pop()
            if isinstance(node, ast.Name):
                if isinstance(node.ctx, ast.Load):
                    self.module.loads[node.id] = self.module.loads.get(node.id, 0) + 1
                continue
            if isinstance(node, ast.Call):
                self.module.calls.append(CallSite(node, self.scope, self.conditional))
                if self.in_guard:
                    self.module.guarded.add(node)
                if isinstance(node.func, ast.Name) and node.func.id == "setattr" and len(node.args) == 3:
                    self._setattr(node)
            elif isinstance(node, ast.Lambda):
                for argument in _all_parameters(node.args):
                    self.opaque(argument.arg, node)
            elif isinstance(node, ast.comprehension):
                self.names_in(node.target, node)
            elif isinstance(node, ast.NamedExpr):
                self.opaque(node.target.id, node)
            stack.extend(ast.iter_child_nodes(node))

    def _setattr(self, node: ast.Call) -> None:
        base, key = dotted_text(node.args[0]), node.args[1]
        if base is not None:
            name = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else key
            self.change(AttributeChange(base, name, node.args[2], node, self.scope, self.conditional, attribute=True))


def _all_parameters(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    if arguments.vararg:
        yield arguments.vararg
    if arguments.kwarg:
        yield arguments.kwarg

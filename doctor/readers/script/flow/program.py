"""Statements of a script at their places, and the definitions of every name, from one walk over its tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

FunctionNode = Union[ast.FunctionDef, ast.AsyncFunctionDef]
#: blocks that need not run, and those that run more than once
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
VALUE, ELEMENT, ENTERED, PARAMETER = "value", "element", "entered", "parameter"


@dataclass(eq=False, repr=False)
class Step:
    """A statement at its place.

    Args:
        node: of the statement.
        order: how many statements of the module stand before it.
        path: blocks around it in its scope, each the statement that opens it and the name of the block.
        scope: the module, function or class that it belongs to.
        owner: the class whose method `scope` is.

    """

    node: ast.stmt
    order: int
    path: tuple[tuple[ast.AST, str], ...]
    scope: ast.AST
    owner: ast.ClassDef | None = None

    @property
    def loops(self) -> tuple[ast.AST, ...]:
        """Loops around it in its scope, the outermost first."""
        return tuple(node for node, block in self.path if isinstance(node, _LOOPS) and block == "body")

    @property
    def branches(self) -> tuple[tuple[ast.AST, str], ...]:
        """Blocks around it that need not run, loops aside."""
        return tuple((node, block) for node, block in self.path if isinstance(node, (ast.If, ast.Try)))

    @property
    def entered(self) -> Iterator[ast.expr]:
        """What the `with` statements around it enter."""
        for node, _ in self.path:
            if isinstance(node, (ast.With, ast.AsyncWith)):
                yield from (each.context_expr for each in node.items)


@dataclass(eq=False, repr=False)
class Definition:
    """One way in which a name gets a value.

    `index` leads to the part of `value` that it is given; `weak` adds to what the name held before, under `key` if it
    is a constant one.
    """

    name: str
    value: ast.expr | None
    step: Step
    kind: str = VALUE
    index: tuple[int, ...] = ()
    weak: bool = False
    key: Any = None


@dataclass(eq=False, repr=False)
class Program:
    """What one walk found."""

    tree: ast.Module
    steps: list[Step] = field(default_factory=list)
    step_of: dict[int, Step] = field(default_factory=dict)  # id of a node of an expression -> its statement
    definitions: dict[tuple[int, str], list[Definition]] = field(default_factory=dict)  # (id of scope, name)
    functions: dict[tuple[int, str], FunctionNode] = field(default_factory=dict)  # (id of scope, name)
    parents: dict[int, ast.AST] = field(default_factory=dict)  # id of a scope -> the scope around it
    bound: dict[int, tuple[ast.expr | None, tuple[int, ...]]] = field(default_factory=dict)  # id of a name in a
    # comprehension or lambda -> what it runs over
    calls: list[ast.Call] = field(default_factory=list)


def program_of(tree: ast.Module) -> Program:
    """Walk a module."""
    made = Program(tree)
    _Walk(made).block(tree.body, (), tree, None)
    return made


def text_of(node: ast.AST) -> str:
    """`a.b.c` of names and attributes, with `a[0]` and `a()` inside of it taken for `a`; "" for anything else."""
    parts: list[str] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        else:
            return ""
    return ".".join((node.id, *reversed(parts)))


def named(node: ast.AST) -> str:
    """The last part of what a call calls, or of a name."""
    if isinstance(node, ast.Call):
        return named(node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


class _Walk:
    """The walk itself."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def block(
        self,
        body: Sequence[ast.stmt],
        path: tuple[tuple[ast.AST, str], ...],
        scope: ast.AST,
        owner: ast.ClassDef | None,
    ) -> None:
        for node in body:
            step = Step(node, len(self._program.steps), path, scope, owner)
            self._program.steps.append(step)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._function(node, step)
                continue
            if isinstance(node, ast.ClassDef):
                self._program.parents[id(node)] = scope
                self.block(node.body, (), node, node)
                continue
            blocks = [(name, value) for name, value in ast.iter_fields(node) if _is_block(value)]
            inner = {id(each) for _, block in blocks for each in block}
            self._expressions(node, step, inner)
            self._define(node, step)
            for name, block in blocks:
                self._inside(node, name, block, step)

    def _inside(self, node: ast.stmt, name: str, block: Sequence[Any], step: Step) -> None:
        if name == "handlers":
            for each in block:
                self.block(each.body, (*step.path, (node, f"except {each.lineno}")), step.scope, step.owner)
        elif name == "cases":
            for number, each in enumerate(block):
                self.block(each.body, (*step.path, (node, f"case {number}")), step.scope, step.owner)
        elif isinstance(node, ast.If) and _is_program(node.test):
            self.block(block, step.path, step.scope, step.owner)
        else:
            self.block(block, (*step.path, (node, name)), step.scope, step.owner)

    def _function(self, node: FunctionNode, step: Step) -> None:
        program = self._program
        program.functions[id(step.scope), node.name] = node
        program.parents[id(node)] = step.scope
        inside = Step(node, step.order, (), node, step.owner if step.owner is step.scope else None)
        for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            self._add(Definition(each.arg, None, inside, PARAMETER))
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults), *node.decorator_list):
            self._expressions(default, step, set())
        self.block(node.body, (), node, inside.owner)

    def _expressions(self, node: ast.AST, step: Step, inner: set[int]) -> None:
        stack: list[ast.AST] = [node]
        while stack:
            each = stack.pop()
            self._program.step_of[id(each)] = step
            if isinstance(each, ast.Call):
                self._program.calls.append(each)
                self._method(each, step)
            if isinstance(each, _COMPREHENSIONS):
                self._comprehension(each)
            elif isinstance(each, ast.Lambda):
                self._bind(each.body, {one.arg: (None, ()) for one in each.args.args})
            elif isinstance(each, ast.NamedExpr):
                self._target(each.target, each.value, step, VALUE)
            stack += [one for one in ast.iter_child_nodes(each) if id(one) not in inner]

    def _comprehension(self, node: Any) -> None:
        found: dict[str, tuple[ast.expr | None, tuple[int, ...]]] = {}
        for each in node.generators:
            for name, index in _names(each.target, ()):
                found[name] = (each.iter, index)
        self._bind(node, found)

    def _bind(self, node: ast.AST, names: dict[str, tuple[ast.expr | None, tuple[int, ...]]]) -> None:
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and each.id in names:
                self._program.bound.setdefault(id(each), names[each.id])

    def _define(self, node: ast.stmt, step: Step) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._target(target, node.value, step, VALUE)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._target(node.target, node.value, step, VALUE)
        elif isinstance(node, ast.AugAssign):
            name = text_of(node.target)
            if name:
                self._add(Definition(name, node.value, step, weak=True))
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self._target(node.target, node.iter, step, ELEMENT)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                if item.optional_vars is not None:
                    self._target(item.optional_vars, item.context_expr, step, ENTERED)

    def _target(self, target: ast.expr, value: ast.expr, step: Step, kind: str) -> None:
        pair = isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, ast.Tuple) and kind == VALUE
        if pair and len(target.elts) == len(value.elts):  # type: ignore[attr-defined]
            for each, part in zip(target.elts, value.elts, strict=True):  # type: ignore[attr-defined]
                self._target(each, part, step, kind)
            return
        if isinstance(target, ast.Subscript):
            if name := text_of(target.value):
                key = target.slice.value if isinstance(target.slice, ast.Constant) else None
                self._add(Definition(name, value, step, kind, weak=True, key=key))
            return
        for name, index in _names(target, ()):
            self._add(Definition(name, value, step, kind, index))

    def _method(self, node: ast.Call, step: Step) -> None:
        """A method that adds to a container adds to what its name holds."""
        if isinstance(node.func, ast.Attribute) and node.func.attr in {"append", "extend", "update", "insert"}:
            name = text_of(node.func.value)
            for value in (*node.args, *(each.value for each in node.keywords)):
                if name:
                    self._add(Definition(name, value, step, weak=True))

    def _add(self, definition: Definition) -> None:
        step, name = definition.step, definition.name
        scope = step.owner if name.startswith("self.") and step.owner is not None else step.scope
        self._program.definitions.setdefault((id(scope), name), []).append(definition)


def _names(target: ast.expr, index: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for position, each in enumerate(target.elts):
            yield from _names(each, (*index, position))
    elif isinstance(target, ast.Starred):
        yield from _names(target.value, index)
    elif name := text_of(target):
        yield name, index


def _is_block(value: object) -> bool:
    blocks = (ast.stmt, ast.ExceptHandler, getattr(ast, "match_case", ast.ExceptHandler))
    return isinstance(value, list) and bool(value) and isinstance(value[0], blocks)


def _is_program(test: ast.expr) -> bool:
    """`if __name__ == "__main__"`, whose body always runs."""
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"

"""What an expression is made of: reaching definitions, followed backwards through names, containers and functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from doctor.readers.script.flow.program import (
    ELEMENT,
    PARAMETER,
    Definition,
    FunctionNode,
    Program,
    Step,
    named,
    text_of,
)

#: calls of the script's own functions that led to a node, the outermost first
Stack = tuple[ast.Call, ...]
_DEEPEST = 4
_MOST_NODES = 6000
_MOST_CALLERS = 4


class TooMuchError(Exception):
    """More is to be followed than is worth it; nothing can be told."""


class At(NamedTuple):
    """A node, and by which calls of the script's own functions it was reached."""

    node: ast.AST
    stack: Stack = ()


Pruned = Callable[[ast.AST, Stack], bool]


@dataclass(eq=False, repr=False)
class Values:
    """Follows values of one program."""

    program: Program
    _callers: dict[int, list[ast.Call]] | None = None
    _reaching: dict[int, list[Definition]] = field(default_factory=dict)

    def step(self, node: ast.AST) -> Step | None:
        """The statement that an expression stands in."""
        return self.program.step_of.get(id(node))

    # --- functions ----------------------------------------------------------------------------------------------

    def function(self, call: ast.Call) -> FunctionNode | None:
        """The function of the script's own that a call enters."""
        step = self.step(call)
        if step is None:
            return None
        func = call.func
        if isinstance(func, ast.Attribute):
            is_self = isinstance(func.value, ast.Name) and func.value.id == "self" and step.owner is not None
            return self.program.functions.get((id(step.owner), func.attr)) if is_self else None
        scope: ast.AST | None = step.scope
        while scope is not None and isinstance(func, ast.Name):
            found = self.program.functions.get((id(scope), func.id))
            if found is not None:
                return found
            scope = self.program.parents.get(id(scope))
        return None

    def callers(self, function: FunctionNode) -> Sequence[ast.Call]:
        """Calls of a function of the script's."""
        if self._callers is None:
            self._callers = {}
            for call in self.program.calls:
                if (entered := self.function(call)) is not None:
                    self._callers.setdefault(id(entered), []).append(call)
        return self._callers.get(id(function), [])

    def returned(self, function: FunctionNode) -> Iterator[ast.expr]:
        """What the statements of a function's own body return."""
        stack: list[ast.AST] = list(function.body)
        while stack:
            node = stack.pop()
            if isinstance(node, ast.Return) and node.value is not None:
                yield node.value
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.expr)):
                stack += ast.iter_child_nodes(node)

    # --- names --------------------------------------------------------------------------------------------------

    def reaching(self, node: ast.expr) -> list[Definition]:
        """Definitions that may have given a name its value where it is read; empty if none is known."""
        if id(node) not in self._reaching:
            self._reaching[id(node)] = self._reach(node)
        return self._reaching[id(node)]

    def _reach(self, node: ast.expr) -> list[Definition]:
        name, step = text_of(node), self.step(node)
        if step is None or not name or isinstance(node, (ast.Call, ast.Subscript)):
            return []
        if name.startswith("self.") and step.owner is not None:
            return self.program.definitions.get((id(step.owner), name), [])
        scope: ast.AST | None = step.scope
        while scope is not None:
            defined = self.program.definitions.get((id(scope), name), [])
            if defined and not isinstance(scope, ast.ClassDef):
                return _before(defined, step) if scope is step.scope else _last(defined)
            scope = self.program.parents.get(id(scope))
        return []

    def argument(self, definition: Definition, call: ast.Call) -> ast.expr | None:
        """What a call gives a parameter: an argument, or its default."""
        function = definition.step.scope
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return None
        given = next((each.value for each in call.keywords if each.arg == definition.name), None)
        if given is not None:
            return given
        names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
        if names[:1] == ["self"]:
            names = names[1:]
        if definition.name in names and names.index(definition.name) < len(call.args):
            found = call.args[names.index(definition.name)]
            return None if isinstance(found, ast.Starred) else found
        return None

    def given(self, definition: Definition, stack: Stack) -> Iterator[At]:
        """What a parameter holds: of the call that led here, else of every call of the function."""
        function = definition.step.scope
        if stack and self.function(stack[-1]) is function:
            calls: Sequence[tuple[ast.Call, Stack]] = [(stack[-1], stack[:-1])]
        elif not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return
        else:
            calls = [(call, ()) for call in self.callers(function)[:_MOST_CALLERS]]
        for call, around in calls:
            value = self.argument(definition, call)
            if value is not None:
                yield At(value, around)

    # --- slices -------------------------------------------------------------------------------------------------

    def made_of(self, node: ast.AST, stack: Stack = (), pruned: Pruned = lambda *_: False) -> Iterator[At]:
        """Every node that a value is made of; what is `pruned` is left out with all behind it.

        Raises:
            TooMuchError: there are too many.

        """
        left, seen = [At(node, stack)], set()
        while left:
            at = left.pop()
            key = (id(at.node), tuple(map(id, at.stack)))
            if key in seen or pruned(at.node, at.stack):
                continue
            seen.add(key)
            if len(seen) > _MOST_NODES:
                raise TooMuchError
            yield at
            left += self.parts(at)

    def parts(self, at: At) -> Iterator[At]:
        """What a node is made of directly: its parts, what a name holds, what a function of the script's returns."""
        node, stack = at
        if isinstance(node, ast.Call):
            function = self.function(node) if len(stack) < _DEEPEST else None
            if function is not None and node not in stack:
                yield from (At(each, (*stack, node)) for each in self.returned(function))
                return
        if isinstance(node, (ast.Name, ast.Attribute)) and not isinstance(getattr(node, "ctx", None), ast.Store):
            found = list(self.held(At(node, stack)))
            yield from found
            if found or isinstance(node, ast.Name):
                return
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            keyed = list(self._keyed(node, node.slice.value, stack))
            if keyed:
                yield from keyed
                return
        yield from (At(each, stack) for each in ast.iter_child_nodes(node) if isinstance(each, (ast.expr, ast.keyword)))
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            yield from (At(each.iter, stack) for each in node.generators)

    def held(self, at: At) -> Iterator[At]:
        """What a name or attribute holds where it is read."""
        node, stack = at
        if id(node) in self.program.bound:
            value, index = self.program.bound[id(node)]
            if value is not None:
                yield At(_element(value, index), stack)
            return
        for each in self.reaching(node) if isinstance(node, ast.expr) else ():
            if each.kind == PARAMETER:
                yield from self.given(each, stack)
            elif each.value is not None:
                yield from self._part(each, stack)

    def _part(self, definition: Definition, stack: Stack) -> Iterator[At]:
        value = definition.value
        if value is None:
            return
        if definition.kind == ELEMENT:
            yield At(_element(value, definition.index), stack)
            return
        function = self.function(value) if isinstance(value, ast.Call) and definition.index else None
        if function is None or len(stack) >= _DEEPEST or not isinstance(value, ast.Call):
            yield At(value, stack)
            return
        for each in self.returned(function):
            yield At(_at(each, definition.index), (*stack, value))

    def _keyed(self, node: ast.Subscript, key: object, stack: Stack) -> Iterator[At]:
        """What was put under a constant key, by a dictionary's display or an assignment."""
        for each in self.reaching(node.value):
            if each.weak and each.key == key and each.value is not None:
                yield At(each.value, stack)
            elif isinstance(each.value, ast.Dict) and not each.weak:
                pairs = zip(each.value.keys, each.value.values, strict=True)
                yield from (At(v, stack) for k, v in pairs if isinstance(k, ast.Constant) and k.value == key)


def _before(defined: Sequence[Definition], step: Step) -> list[Definition]:
    """Definitions of a scope that may hold at a step: the last that surely ran, and what may have run since."""
    found: list[Definition] = []
    sure: Definition | None = None
    sides: dict[ast.AST, set[str]] = {}
    for each in reversed(defined):
        if each.step.order > step.order or (each.step is step and each.kind not in {PARAMETER, ELEMENT}):
            continue
        if _apart(each.step, step):
            continue
        found.append(each)
        if not each.weak and _always(each.step, step, sides):
            sure = each
            break
    for each in defined:  # what the turn of a loop before this one left
        common = [loop for loop in step.loops if loop in each.step.loops]
        later = each.step.order >= step.order and each not in found
        if later and any(sure is None or not _inside(sure.step, loop) for loop in common):
            found.append(each)
    return found


def _inside(step: Step, loop: ast.AST) -> bool:
    return loop in step.loops or step.node is loop


def _always(first: Step, then: Step, sides: dict[ast.AST, set[str]]) -> bool:
    """Whether `first` has run whenever `then` does; `sides` gathers branches that did the same before."""
    mine, others = _firm(first), _firm(then)
    if mine == others[: len(mine)]:
        return True
    node, block = mine[-1]
    if isinstance(node, ast.If) and mine[:-1] == others[: len(mine) - 1]:
        sides.setdefault(node, set()).add(block)
    return any(len(each) == 2 for each in sides.values())


def _firm(step: Step) -> tuple[tuple[ast.AST, str], ...]:
    """Blocks around a step that need not run, or run more than once."""
    free = (ast.With, ast.AsyncWith)
    return tuple(
        (node, block)
        for node, block in step.path
        if not isinstance(node, free) and not (isinstance(node, ast.Try) and block != "handlers" and block[0] != "e")
    )


def _apart(first: Step, then: Step) -> bool:
    """Whether two statements stand in branches of which one run takes one."""
    for (one, a), (other, b) in zip(first.path, then.path):  # noqa: B905 - paths differ in length
        if one is other and a != b:
            return isinstance(one, ast.If)
        if one is not other:
            return False
    return False


def _last(defined: Sequence[Definition]) -> list[Definition]:
    """Definitions of a scope around: the last sure one, and those behind it."""
    found: list[Definition] = []
    for each in reversed(defined):
        found.append(each)
        if not each.weak and not each.step.path:
            break
    return found


def _element(value: ast.expr, index: tuple[int, ...]) -> ast.expr:
    """The part of what a loop runs over that one of its names gets."""
    if isinstance(value, ast.Call) and index and not value.keywords:
        name = named(value)
        if name == "zip" and index[0] < len(value.args) and not isinstance(value.args[index[0]], ast.Starred):
            return _element(value.args[index[0]], index[1:])
        if name == "enumerate" and index[0] == 1 and value.args:
            return _element(value.args[0], index[1:])
    return value


def _at(value: ast.expr, index: tuple[int, ...]) -> ast.expr:
    for position in index:
        if not isinstance(value, ast.Tuple) or position >= len(value.elts):
            return value
        value = value.elts[position]
    return value

"""Calls of a script in the order in which they run, with the script's own functions followed in their place."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from doctor.readers.script.flow.program import FunctionNode, Step, named
from doctor.readers.script.flow.values import At, Stack, Values

_DEEPEST = 4
_MOST = 3000


@dataclass(frozen=True, eq=False, repr=False)
class Event:
    """A call where it runs.

    Args:
        name: last part of what is called.
        call: the node.
        step: the statement.
        stack: calls of the script's own functions around it, the outermost first.
        around: loops and branches around it with those of the calls, the outermost first.

    """

    name: str
    call: ast.Call
    step: Step
    stack: Stack
    around: tuple[tuple[ast.AST, str], ...]

    @property
    def base(self) -> At | None:
        """The object whose method it is."""
        func = self.call.func
        return At(func.value, self.stack) if isinstance(func, ast.Attribute) else None

    @property
    def loops(self) -> tuple[ast.AST, ...]:
        """Loops around it, the outermost first."""
        return tuple(node for node, block in self.around if isinstance(node, (ast.For, ast.AsyncFor, ast.While)))

    @property
    def branches(self) -> frozenset[tuple[int, str]]:
        """Branches around it, by the identity of their statement."""
        kinds = (ast.If, ast.Try)
        return frozenset((id(node), block) for node, block in self.around if isinstance(node, kinds))

    @property
    def tests(self) -> Iterator[ast.expr]:
        """Conditions of the branches around it."""
        yield from (node.test for node, _ in self.around if isinstance(node, ast.If))

    def argument(self, position: int, name: str) -> ast.expr | None:
        """An argument by its position or name."""
        given = next((each.value for each in self.call.keywords if each.arg == name), None)
        return given if given is not None else self.call.args[position] if position < len(self.call.args) else None


def runs(values: Values) -> list[list[Event]]:
    """The events of every part that nothing else of the script calls: its top, and functions that others call."""
    program = values.program
    roots: list[ast.AST] = [program.tree]
    roots += [each for each in program.functions.values() if not values.callers(each)]
    return [events for root in roots if (events := list(_of(values, root)))]


def _of(values: Values, root: ast.AST) -> Iterator[Event]:
    steps: dict[int, list[Step]] = {}
    for step in values.program.steps:
        steps.setdefault(id(step.scope), []).append(step)
    budget = [_MOST]
    yield from _inside(values, steps, root, (), (), budget)


def _inside(
    values: Values,
    steps: dict[int, list[Step]],
    scope: ast.AST,
    stack: Stack,
    around: tuple[tuple[ast.AST, str], ...],
    budget: list[int],
) -> Iterator[Event]:
    for step in steps.get(id(scope), ()):
        if isinstance(step.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        here = (*around, *step.path)
        for call in calls_in(step.node):
            budget[0] -= 1
            if budget[0] < 0:
                return
            yield Event(named(call), call, step, stack, here)
            function = values.function(call)
            if function is not None and call not in stack and len(stack) < _DEEPEST:
                yield from _inside(values, steps, function, (*stack, call), here, budget)


def calls_in(statement: ast.stmt) -> list[ast.Call]:
    """Calls of a statement without its blocks, the inner ones first."""
    found: list[ast.Call] = []

    def visit(node: ast.AST) -> None:
        for each in ast.iter_child_nodes(node):
            if not isinstance(each, (ast.stmt, ast.ExceptHandler, ast.Lambda)):
                visit(each)
        if isinstance(node, ast.Call):
            found.append(node)

    visit(statement)
    return found


def decorated(function: FunctionNode, *names: str) -> bool:
    """Whether a function has one of these decorators."""
    return any(named(each) in names for each in function.decorator_list)


def after(events: Sequence[Event], event: Event) -> Sequence[Event]:
    """Events behind one."""
    return events[events.index(event) + 1 :]

"""Threads of one process that wait for each other's locks, read off their stacks and the source.

A thread that is blocked where a `with` statement begins, or in `acquire`, wants that lock; the `with` statements whose
bodies it and its callers stand in are the locks that it holds. A lock is known by its text in its file, for a lock of
Python does not tell who holds it, so what follows is likely and never certain. Contexts that are called
(`with open(...)`) are no locks.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from doctor.base.record import record
from doctor.catalogue.standing import Frame
from doctor.hang.asked import ThreadStack
from doctor.hang.threads import Thread

_LARGEST = 2 << 20
#: by which the time of a file and that of a process may differ, in seconds
_CLOCK_S = 1.0
_MOST_THREADS, _MOST_FRAMES = 64, 20
_BLOCKED = "futex"

Lock = tuple[str, str]  # (file, text)


@record
class Locked:
    """One thread of a circle.

    Args:
        thread: its name.
        at: `push (program.py:9)`.
        wants: text of the lock that it waits for.
        holds: text of the lock that the thread before it in the circle waits for.

    """

    thread: str
    at: str
    wants: str
    holds: str


@record
class _Blocked:
    stack: ThreadStack
    wants: Lock
    holds: tuple[Lock, ...]


def circles(
    stacks: Sequence[ThreadStack], threads: Sequence[Thread], started_s: float
) -> tuple[tuple[Locked, ...], ...]:
    """Circles of threads each of which wants what the next one holds.

    Args:
        stacks: of the threads of one process.
        threads: what the kernel tells of them; only those that are blocked in a futex count.
        started_s: when the process began, seconds since the epoch; a source that is newer is not read.

    """
    calls = {each.tid: each.call for each in threads}
    trees: dict[str, ast.AST | None] = {}
    blocked = []
    for stack in stacks[:_MOST_THREADS]:
        if stack.frames and calls.get(stack.tid or -1) == _BLOCKED:
            wants, holds = _of_stack(stack.frames, trees, started_s)
            if wants is not None:
                blocked.append(_Blocked(stack, wants, holds))
    found, done = [], set[int]()
    for number in range(len(blocked)):
        way = _around(number, blocked)
        if way and not done & set(way):
            done |= set(way)
            found.append(tuple(_told(blocked, way, place) for place in range(len(way))))
    return tuple(found)


def _told(blocked: Sequence[_Blocked], way: Sequence[int], place: int) -> Locked:
    each = blocked[way[place]]
    before = blocked[way[place - 1]]
    file, line, function = each.stack.frames[0]
    return Locked(each.stack.name, f"{function} ({Path(file).name}:{line})", each.wants[1], before.wants[1])


def _around(first: int, blocked: Sequence[_Blocked]) -> list[int]:
    """The way from a thread to who holds what it wants, and so on, back to itself; [] where it does not lead there."""
    way = [first]
    while True:
        wants = blocked[way[-1]].wants
        holder = next((place for place, each in enumerate(blocked) if wants in each.holds), None)
        if holder is None:
            return []
        if holder == first:
            return way
        if holder in way:
            return []
        way.append(holder)


def _of_stack(
    frames: Sequence[Frame], trees: dict[str, ast.AST | None], started_s: float
) -> tuple[Lock | None, tuple[Lock, ...]]:
    """The lock that the innermost frame waits for, None where it is none; and those that it and its callers hold."""
    wants: Lock | None = None
    holds: list[Lock] = []
    for place, (file, line, _) in enumerate(frames[:_MOST_FRAMES]):
        if file not in trees:
            trees[file] = _tree(Path(file), started_s)
        tree = trees[file]
        if tree is None:
            if place == 0:
                return None, ()
            continue
        for text, inside in _locks(tree, line):
            if inside:
                holds.append((file, text))
            elif place == 0:
                wants = (file, text)
    return wants, tuple(holds)


def _tree(path: Path, started_s: float) -> ast.AST | None:
    try:
        state = path.stat()
        if state.st_size > _LARGEST or state.st_mtime > started_s + _CLOCK_S or not path.is_absolute():
            return None
        return ast.parse(path.read_text("utf-8", "replace"))
    except (OSError, ValueError, SyntaxError, RecursionError):
        return None


def _locks(tree: ast.AST, line: int) -> Iterator[tuple[str, bool]]:
    """(text of a lock, whether it is held) at a line, of the innermost function around it."""
    place: ast.AST | None = _function(tree, line)
    for node in ast.walk(place or tree):
        if isinstance(node, ast.With) and node.lineno <= line <= (node.end_lineno or node.lineno):
            inside = line >= node.body[0].lineno
            for item in node.items:
                if _is_plain(item.context_expr) and (inside or item.context_expr.lineno <= line):
                    yield ast.unparse(item.context_expr), inside
        elif isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or node.lineno):
            function = node.func
            if isinstance(function, ast.Attribute) and function.attr == "acquire" and _is_plain(function.value):
                yield ast.unparse(function.value), False


def _function(tree: ast.AST, line: int) -> ast.AST | None:
    around = [
        each
        for each in ast.walk(tree)
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))
        and each.lineno <= line <= (each.end_lineno or each.lineno)
    ]
    return max(around, key=lambda each: each.lineno, default=None)


def _is_plain(node: ast.AST) -> bool:
    """Whether an expression names something without a call."""
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and not any(
        isinstance(each, ast.Call) for each in ast.walk(node)
    )

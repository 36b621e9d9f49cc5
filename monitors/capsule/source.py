"""The statement that a frame stood at, its source, and the conditions that guard it."""

from __future__ import annotations

import ast
import os
import sys
import time
import types
from collections.abc import Iterator
from typing import Any, Optional

_LARGEST_FILE, _MOST_LINES, _MOST_CONDITIONS = 2_000_000, 12, 4
_UNNAMED = ("<lambda>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<module>")

Span = tuple[int, int, int, int]


class Condition:
    """A condition that guards a statement.

    Args:
        node: its expression.
        taken: whether it held where the statement was reached.
        kind: "if", "while", "assert", "if-expression".

    """

    def __init__(self, node: ast.expr, taken: bool, kind: str) -> None:
        self.node, self.taken, self.kind = node, taken, kind


class Sources:
    """Sources of files, read once and only while there is time.

    Args:
        until_s: of the monotonic clock; nothing more is read after it.

    """

    def __init__(self, until_s: float) -> None:
        self._until_s = until_s
        self._started_s = started_s()
        self._lines: dict[str, list[str]] = {}
        self._trees: dict[str, Optional[ast.AST]] = {}

    def lines(self, code: types.CodeType) -> list[str]:
        """Lines of a code object's file; none where there is no such file."""
        path = code.co_filename
        if path not in self._lines:
            self._lines[path] = _read(path) or _of_notebook(path)
        return self._lines[path]

    def changed(self, code: types.CodeType) -> bool:
        """Whether the file is another than the one that runs: its functions would be read at wrong lines.

        A file as old as the process is the one that was imported. A younger one is compiled, and its code compared.
        """
        path = code.co_filename
        try:
            if os.stat(path).st_mtime <= self._started_s:
                return False
            compiled = compile("\n".join(self.lines(code)) + "\n", path, "exec", dont_inherit=True)
        except (OSError, ValueError, SyntaxError):
            return bool(self.lines(code)) and os.path.exists(path)
        return not any(_same(each, code) for each in _codes(compiled))

    def tree(self, code: types.CodeType) -> Optional[ast.AST]:
        """The syntax tree around a code object: of its function alone where that can be cut out, else of the file."""
        key = f"{code.co_filename}:{code.co_firstlineno}:{code.co_name}"
        if key not in self._trees:
            lines = self.lines(code)
            tree = None if code.co_name in _UNNAMED else _function(lines, code.co_firstlineno)
            if tree is None and lines and time.monotonic() < self._until_s:
                tree = self._file(code.co_filename, lines)
            self._trees[key] = tree
        return self._trees[key]

    def _file(self, path: str, lines: list[str]) -> Optional[ast.AST]:
        if path not in self._trees:
            self._trees[path] = _parsed("\n".join(lines) + "\n")
        return self._trees[path]


def started_s() -> float:
    """Seconds since the epoch at which this process began; 0 where nothing tells, so that every file is compared.

    Field 22 of https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html.
    """
    try:
        with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
        since_boot_s = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0
    return time.time() - since_boot_s


def _read(path: str) -> list[str]:
    try:
        if os.path.getsize(path) > _LARGEST_FILE or not os.path.isfile(path):
            return []
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def _of_notebook(path: str) -> list[str]:
    """Lines of a notebook's cell or of `exec`, as `linecache` was given them; it is not asked to look for any."""
    cache: Any = getattr(sys.modules.get("linecache"), "cache", {})
    kept = cache.get(path) if type(cache) is dict else None
    if type(kept) is tuple and len(kept) == 4 and type(kept[2]) is list:
        return [each.rstrip("\n") for each in kept[2] if type(each) is str]
    return []


def _parsed(text: str) -> Optional[ast.AST]:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _function(lines: list[str], first: int) -> Optional[ast.AST]:
    """The tree of the function that begins at a line, without parsing the whole file; None where that fails."""
    if not 0 < first <= len(lines):
        return None
    indent = _indent(lines[first - 1])
    last, opened = first, False
    while last < len(lines):
        line = lines[last]
        begins = line.lstrip().startswith(("def ", "async def ", "class "))
        ends = line.strip() and _indent(line) <= indent and not line.lstrip().startswith((")", "]", "}", "#", "@"))
        if ends and (opened or not begins):
            break
        opened = opened or begins or lines[first - 1].lstrip().startswith(("def ", "async def "))
        last += 1
    block = "\n".join(lines[first - 1 : last])
    return _parsed("\n" * (first - 2) + f"if 1:\n{block}\n" if indent and first > 1 else "\n" * (first - 1) + block)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    left = [code]
    while left:
        each = left.pop()
        yield each
        left += [inner for inner in each.co_consts if type(inner) is types.CodeType]


def _same(found: types.CodeType, code: types.CodeType) -> bool:
    if found.co_name != code.co_name or found.co_firstlineno != code.co_firstlineno:
        return False
    return found.co_code == code.co_code and found.co_names == code.co_names


def span_of(code: types.CodeType, lasti: int, line: int) -> Span:
    """(line, end line, column, end column) of the failing instruction; columns are -1 before Python 3.11."""
    positions = getattr(code, "co_positions", None)
    if positions is not None and lasti >= 0:
        for number, each in enumerate(positions()):
            if number == lasti // 2:
                first, last, begin, end = each
                if first is not None and begin is not None:
                    return first, last or first, begin, end if end is not None else -1
                break
    return line, line, -1, -1


def statement_at(tree: ast.AST, line: int, name: str) -> tuple[Optional[ast.stmt], list[Condition]]:
    """The innermost statement at a line, and the conditions around it inside the same function, innermost first."""
    found: Optional[ast.stmt] = None
    around: list[tuple[ast.AST, str]] = []
    place: Any = tree
    while place is not None:
        inside = next(((each, field) for each, field in _children(place) if _covers(each, line)), None)
        if inside is None:
            break
        child, field = inside
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) and child.name == name:
            around = []
        elif isinstance(place, ast.AST):
            around.append((place, field))
        if isinstance(child, ast.stmt):
            found = child
        place = child
    conditions = [each for node, field in reversed(around) for each in _guards(node, field)]
    if isinstance(found, ast.Assert):
        conditions.insert(0, Condition(found.test, False, "assert"))
    return found, conditions[:_MOST_CONDITIONS]


def _children(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    for field in ("body", "orelse", "handlers", "finalbody", "cases"):
        part = getattr(node, field, None)
        if type(part) is list:
            for each in part:
                if isinstance(each, (ast.stmt, ast.excepthandler)) or type(each).__name__ == "match_case":
                    yield each, field


def _covers(node: Any, line: int) -> bool:
    if type(node).__name__ == "match_case":
        return any(_covers(each, line) for each in node.body)
    decorators = getattr(node, "decorator_list", None)
    first = min([node.lineno, *(each.lineno for each in decorators)]) if decorators else node.lineno
    return bool(first <= line <= (node.end_lineno or node.lineno))


def _guards(node: ast.AST, field: str) -> Iterator[Condition]:
    if isinstance(node, (ast.If, ast.While)) and field in ("body", "orelse") and not _is_made(node):
        yield Condition(node.test, field == "body", "if" if isinstance(node, ast.If) else "while")


def _is_made(node: Any) -> bool:
    """Whether it is the `if 1:` that was put around a function to parse it alone."""
    return isinstance(node.test, ast.Constant)


def maker_of(tree: ast.AST, name: str, first: int, line: int) -> Optional[ast.expr]:
    """What was called for the value of a name: `judge` of the last `name = judge(...)` above a line.

    Args:
        tree: around the function.
        name: as it stands in the source, `self.engine` too.
        first: first line of the function.
        line: the failing one.

    """
    above = (each for each in ast.walk(tree) if isinstance(each, ast.Assign) and first <= each.lineno < line)
    made = [each for each in above if len(each.targets) == 1 and ast.unparse(each.targets[0]) == name]
    value = max(made, key=lambda each: each.lineno).value if made else None
    call = value.value if isinstance(value, ast.Await) else value
    return call.func if isinstance(call, ast.Call) else None


def head_of(statement: ast.stmt, span: Span) -> list[ast.AST]:
    """The expressions of a statement without the statements inside of it, those at the failing place first."""
    inside = {id(each) for each, _ in _children(statement)}
    heads = [each for each in ast.iter_child_nodes(statement) if id(each) not in inside]
    if span[2] < 0:
        return heads
    exact = [each for head in heads for each in ast.walk(head) if _position(each) == span]
    return [*exact[:1], *heads]


def _position(node: Any) -> Optional[Span]:
    if not hasattr(node, "end_col_offset"):
        return None
    return node.lineno, node.end_lineno or node.lineno, node.col_offset, node.end_col_offset


def text_of(statement: ast.stmt, lines: list[str]) -> tuple[int, list[str]]:
    """First line and lines of a statement's head, cut where it is long."""
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    bodies = [each.lineno for each, _ in _children(statement) if hasattr(each, "lineno")]
    if bodies:
        last = max(first, min(bodies) - 1)
    return first, [each[:300] for each in lines[first - 1 : min(last, first + _MOST_LINES - 1)]]

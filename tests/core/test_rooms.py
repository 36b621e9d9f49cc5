"""The rooms of the package: what each may import, no circles, and no folder that nobody can take in."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]

#: a room imports from itself and from those before it; `checks`, `monitors` and `fixes` lie beside `doctor`
ROOMS = (
    "base", "oracles", "data", "facts", "catalogue", "checks", "readers", "mend", "diagnosis", "run", "fixes", "logs",
    "monitors", "cluster", "hang", "sizing", "rehearse", "serve", "render", "agents", "cli",
)  # fmt: skip

#: that many files, and lines of a function beside its docstring, a person can take in
MOST_FILES, MOST_LINES = 40, 40


@cache
def modules() -> dict[str, Path]:
    """Dotted name -> file of every module of the package."""
    found = {}
    for top in ("doctor", "checks", "monitors", "fixes"):
        for path in (ROOT / top).rglob("*.py"):
            if any(each.is_symlink() for each in path.parents):
                continue
            parts = path.relative_to(ROOT).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            found[".".join(parts if top == "doctor" else ("doctor", *parts))] = path
    return found


class Module(NamedTuple):
    """What the tests ask of a module's source, which is parsed once for all of them."""

    imports: frozenset[str]
    functions: tuple[tuple[str, int], ...]


@cache
def read() -> dict[str, Module]:
    """Every module: those of the package that it imports, at once or later; its functions with their lines."""
    return {name: _read(name, path) for name, path in modules().items()}


def _read(name: str, path: Path) -> Module:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    functions = (each for each in nodes if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return Module(frozenset(_imported(nodes)) - {name}, tuple((each.name, _lines(each)) for each in functions))


def imports() -> dict[str, frozenset[str]]:
    return {name: each.imports for name, each in read().items()}


def _imported(nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in modules())
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "doctor":
            for each in node.names:
                yield (full if (full := f"{node.module}.{each.name}") in modules() else str(node.module))


def _room(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


def test_every_folder_is_a_room() -> None:
    assert {_room(name) for name in modules()} - {"", "__main__"} == set(ROOMS)


def test_no_arrow_runs_up() -> None:
    up = [
        f"{name} -> {other}"
        for name, others in imports().items()
        for other in others
        if _room(name) in ROOMS and _room(other) in ROOMS and ROOMS.index(_room(other)) > ROOMS.index(_room(name))
    ]
    assert not up, up


def test_no_circle() -> None:
    left = {name: set(others) & modules().keys() for name, others in imports().items()}
    while free := {name for name, others in left.items() if not others}:
        left = {name: others - free for name, others in left.items() if name not in free}
    assert not left, f"these import each other, or what does: {sorted(left)}"


def test_areas_share_nothing_that_is_private() -> None:
    crossed = [
        f"{name} -> {other}"
        for name, others in imports().items()
        for other in others
        if other.startswith("doctor.checks.") and other.rpartition(".")[2].startswith("_")
        and name.split(".")[1:3] != other.split(".")[1:3]
    ]  # fmt: skip
    assert not crossed, crossed


def test_judgement_takes_no_secrets_out() -> None:
    """That is done where findings and observations are made and where a report leaves, for all alike."""
    redacting = [
        name
        for name, others in imports().items()
        if name.startswith("doctor.checks.") and "doctor.base.redact" in others
    ]
    assert not redacting, redacting


def test_no_folder_is_too_long() -> None:
    folders: dict[Path, int] = {}
    for path in modules().values():
        folders[path.parent] = folders.get(path.parent, 0) + 1
    for path in (ROOT / "checks").rglob("*.toml"):  # which its Python stands beside
        folders[path.parent] = folders.get(path.parent, 0) + (path.parent.name != "zh")
    long = {str(folder.relative_to(ROOT)): count for folder, count in folders.items() if count > MOST_FILES}
    assert not long, long


def _lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How long a function is; its docstring is for those who call it."""
    first = function.body[0]
    manual = ast.get_docstring(function) is not None
    told = (first.end_lineno or first.lineno) - first.lineno + 1 if manual else 0
    return (function.end_lineno or function.lineno) - function.lineno + 1 - told


def test_no_function_is_too_long() -> None:
    long = {
        f"{name}.{function}": count
        for name, each in read().items()
        for function, count in each.functions
        if count > MOST_LINES
    }
    assert not long, long

"""Copies the part of the doctor that runs inside a patient into a folder, for interpreters that lack the doctor.

Only what a module imports when it is itself imported comes along; what it imports inside a function stays at home,
unless it is named too. So does a compiled module, which is made for one kind of machine: who imports it does without.
What the TOML of a problem declares goes along as JSON, for a patient's Python may have no reader of TOML.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import marshal
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from doctor.catalogue.words import CARRIED
from doctor.readers.patient.imports import Known

#: beside the carried modules: what was asked for, so that the rules of the catalogue are found without its index
CONTENTS = "_carried.json"

_PACKAGE = "doctor"
_TRIES = 5


class NotCarried(ImportError):  # noqa: N818 - the message says what is wrong
    """A module that was asked for, or that one of those imports, is not part of the doctor; names it."""


def carry(modules: Iterable[str], into: Path, *, root: Path | None = None) -> Path:
    """Copy modules, and what they import from the doctor, as a package `doctor` below `into`.

    Args:
        modules: dotted names, ``doctor.run.phases``; a package stands for all modules that lie directly in it.
        into: a folder, made where it is missing; it is what goes on the path.
        root: folder of the package `doctor`; this one's own where None.

    Returns:
        `into`.

    Raises:
        NotCarried: there is no such module.
        OSError: the folder cannot be written.

    """
    root = root or Path(__file__).parents[2]
    wanted = sorted({_PACKAGE, *(each for name in modules for each in _expanded(name, root))})
    closure = dict(sorted(_closure(wanted, root).items()))
    for name, path in closure.items():
        parts = name.split(".")
        target = into.joinpath(*parts, "__init__.py") if path.name == "__init__.py" else _file(into, parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    (into / _PACKAGE / CONTENTS).write_text(json.dumps({"modules": wanted}) + "\n", encoding="utf-8")
    words = json.dumps(_words(closure), ensure_ascii=False)
    (into / _PACKAGE / CARRIED).write_text(words + "\n", encoding="utf-8")
    return into


def lay_hook(source: Path, entry: Path) -> None:
    """Lay a start-up hook down as an archive, which Python reads like a folder of its path.

    In a folder that is there while nothing in it can be read, as on a network file system whose server has gone, every
    import fails, and a Python that starts ends over its codecs; an archive that cannot be read is passed over. It is
    not packed, for the patient may lack zlib, and holds the hook as this Python compiles it too: another one passes
    that over and compiles the text each time. https://github.com/python/cpython/blob/main/Lib/zipimport.py and
    https://peps.python.org/pep-0552/ (a `.pyc` that is not held against its source)

    Raises:
        OSError: it cannot be written.

    """
    text = source.read_bytes()
    code = marshal.dumps(compile(text, str(entry / source.name), "exec", dont_inherit=True))
    unchecked = (1).to_bytes(4, "little")
    with zipfile.ZipFile(entry, "w") as archive:
        for name, data in (
            (source.name, text),
            (f"{source.name}c", importlib.util.MAGIC_NUMBER + unchecked + importlib.util.source_hash(text) + code),
        ):
            archive.writestr(zipfile.ZipInfo(name), data)


def _words(modules: Iterable[str]) -> dict[str, Any]:
    """Module -> what its TOML declares, but for the manual, which nobody reads there."""
    found: dict[str, Any] = {}
    if not any(name.startswith(f"{_PACKAGE}.checks.") for name in modules):
        return found
    from doctor.catalogue.index import declared_in, having_words

    having = frozenset(having_words())
    for name in modules:
        if name in having:
            found[name] = declared_in(name)
    return found


def rule_modules() -> list[str]:
    """Names of the modules of the catalogue that hold a live rule, for :func:`carry`."""
    from doctor.catalogue.index import load

    return [entry.module for entry in load() if entry.has_rule and entry.module.startswith(f"{_PACKAGE}.")]


def _expanded(name: str, root: Path) -> Iterator[str]:
    """A module, or a package with its modules."""
    path = _source(name, root)
    if path is None:
        raise NotCarried(f"`{name}` is no module of the doctor", name=name)
    yield name
    if path.name == "__init__.py" and name != _PACKAGE:
        yield from (f"{name}.{each.stem}" for each in path.parent.glob("*.py") if each.name != "__init__.py")


def _file(root: Path, parts: list[str]) -> Path:
    return root.joinpath(*parts[:-1], f"{parts[-1]}.py")


def _source(name: str, root: Path) -> Path | None:
    """File of a module of the doctor; None where there is none."""
    parts = name.split(".")
    if parts[0] != _PACKAGE:
        return None
    package = root.joinpath(*parts[1:], "__init__.py")
    if package.is_file():
        return package
    module = _file(root, parts[1:]) if parts[1:] else package
    return module if module.is_file() else None


def _is_compiled(name: str, root: Path) -> bool:
    """Whether a module is compiled, where there is a compiler: its source in Python is a stub for type checkers."""
    return root.joinpath(*name.split(".")[1:]).with_suffix(".pyi").is_file()


def _closure(names: Iterable[str], root: Path) -> dict[str, Path]:
    """Module -> file of all that must be there for the named modules to be imported."""
    known = Known()
    found = _followed(names, root, known)
    known.keep()
    return found


def _followed(names: Iterable[str], root: Path, known: Known) -> dict[str, Path]:
    found: dict[str, Path] = {}
    left = list(names)
    while left:
        name = left.pop()
        if name in found:
            continue
        path = _source(name, root)
        if path is None and _is_compiled(name, root):
            continue
        if path is None:
            raise NotCarried(f"`{name}` is no module of the doctor", name=name)
        found[name] = path
        parent = name.rpartition(".")[0]
        left += [parent] if parent else []
        modules, members = known.of(path, _imported)
        left += [*modules, *(each for each in members if each not in found and _source(each, root) is not None)]
    return found


def _imported(path: Path) -> tuple[list[str], list[str]]:
    """Modules of the doctor that a file imports when it is imported, and what it takes of them: modules or names."""
    modules, members = [], []
    for node in _run_on_import(_tree(path).body):
        if isinstance(node, ast.Import):
            modules += [each.name for each in node.names if each.name.partition(".")[0] == _PACKAGE]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == _PACKAGE:
            assert node.module is not None  # noqa: S101 - for the type checker: it begins with the package's name
            modules.append(node.module)
            members += [f"{node.module}.{each.name}" for each in node.names]
    return modules, members


def _tree(path: Path) -> ast.Module:
    """Parse a file; again where another thread parsed at the same time, which CPython up to 3.12 may not bear.

    https://github.com/python/cpython/issues/106905
    """
    for _ in range(_TRIES):
        try:
            return ast.parse(path.read_bytes(), str(path))
        except SystemError:
            continue
    return ast.parse(path.read_bytes(), str(path))


def _run_on_import(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when a module is imported; those for type checkers alone do not."""
    for node in body:
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            yield from _run_on_import(node.orelse)
            continue
        for field in ("body", "orelse", "finalbody"):
            yield from _run_on_import(getattr(node, field, ()))
        for handler in getattr(node, "handlers", ()):
            yield from _run_on_import(handler.body)

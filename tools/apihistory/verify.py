"""The shipped histories against the libraries themselves.

What a release imports of its own modules must be there, and what a module imports from other packages as well, for it
can be imported from that module.
"""

from __future__ import annotations

import ast
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from doctor.data import api

_IMPORT = re.compile(r"^from (?P<module>\w+(?:\.\w+)*) import (?P<names>\w+(?:, \w+)*)$", re.MULTILINE)


def own_imports(archive: Path, package: str) -> Iterator[tuple[str, str]]:
    """Yield (module, name) of the imports at the left margin of a release's files that name the package itself."""
    with zipfile.ZipFile(archive) as opened:
        for path in opened.namelist():
            for match in _IMPORT.finditer(opened.read(path).decode("utf-8", "replace")):
                if match["module"].partition(".")[0] == package:
                    yield from ((match["module"], name) for name in match["names"].split(", "))


def modules_of(archive: Path) -> Iterator[str]:
    """Yield the dotted names of a release's modules."""
    with zipfile.ZipFile(archive) as opened:
        for path in opened.namelist():
            yield path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def re_exported(archive: Path, package: str) -> Iterator[tuple[str, str]]:
    """Yield (module, name) of what a release's modules import from other packages, conditions aside."""
    with zipfile.ZipFile(archive) as opened:
        for path in opened.namelist():
            try:
                tree = ast.parse(opened.read(path))
            except (SyntaxError, ValueError):
                continue
            module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            for node in tree.body:
                if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] != package:
                    yield from ((module, each.asname or each.name) for each in node.names if each.name != "*")


def wrong_of(archive: Path, package: str, version: str) -> list[str]:
    """What the histories tell to be absent and is there: imports of a release as "module.name", and its modules."""
    wrong = [module for module in modules_of(archive) if api.invented(module) is not None]
    for module, name in sorted({*own_imports(archive, package), *re_exported(archive, package)}):
        known = api.name(module, name)
        near = known.neighbours(version) if known is not None else None
        if known is not None and near is not None and not any(each >= 0 and known.there(each) for each in near):
            wrong.append(f"{module}.{name}")
    return wrong

"""Finds our own modules without searching for them.

A check with a launch command imports six hundred of our modules. Python asks for each which of five kinds of file lies
in its folder, and looks at that folder again; here the compiled file beside the source is opened at once. Python's rule
holds (https://docs.python.org/3/reference/import.html#pyc-invalidation): it counts if it was made of a source of this
date and size. Whatever else there is (no compiled file, an older one, one checked by its hash, a folder without
`__init__.py`) is left to Python.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import MAGIC_NUMBER
from marshal import loads
from types import CodeType, ModuleType

_PREFIX = __name__.partition(".")[0] + "."
_ENDING = f".{sys.implementation.cache_tag}.pyc"
#: what a compiled file begins with that is checked by the date of its source; date and size follow, then the code
_DATED = MAGIC_NUMBER + bytes(4)
_CODE = 16
#: most of our compiled files are smaller, and a buffer of this size is no mapping of its own
_AT_ONCE = 1 << 16
_READING = os.O_RDONLY | getattr(os, "O_BINARY", 0)  # the latter on Windows


def find_own_modules_directly() -> None:
    """Have this process find our modules so; called once, before they are imported."""
    if sys.pycache_prefix is None and not sys.flags.optimize and sys.implementation.cache_tag is not None:
        at = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else 0
        sys.meta_path.insert(at, _OwnModules)  # behind what others have put in front of Python's own search


class _OwnModules:
    """Knows where the compiled file of one of our modules lies."""

    @staticmethod
    def find_spec(
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,  # noqa: ARG004 - Python gives it when a module is loaded again
    ) -> ModuleSpec | None:
        if not path or not name.startswith(_PREFIX):
            return None
        folder, stem = path[0], name.rpartition(".")[2]
        return _spec(name, folder, stem) or _spec(name, f"{folder}/{stem}", "__init__")


class _Loader(SourceFileLoader):
    """Python's own, to which the compiled code has been read."""

    def __init__(self, name: str, source: str, compiled: bytes) -> None:
        super().__init__(name, source)
        self._compiled = compiled

    def get_code(self, fullname: str) -> CodeType | None:
        """The code as it was read; Python's own way if it was compiled at another place, or for the second time."""
        compiled, self._compiled = self._compiled, b""
        if compiled:
            code = loads(memoryview(compiled)[_CODE:])  # noqa: S302 - what Python itself would load
            if isinstance(code, CodeType) and code.co_filename == self.path:
                return code
        return super().get_code(fullname)


def _spec(name: str, folder: str, stem: str) -> ModuleSpec | None:
    source, compiled = f"{folder}/{stem}.py", f"{folder}/__pycache__/{stem}{_ENDING}"
    try:
        data = _content(compiled)
        stat = os.stat(source)  # noqa: PTH116 - six hundred times at every start
    except OSError:
        return None
    if data[:_CODE] != _DATED + _four(int(stat.st_mtime)) + _four(stat.st_size):
        return None
    is_package = stem == "__init__"
    spec = ModuleSpec(name, _Loader(name, source, data), origin=source, is_package=is_package)
    spec.has_location = True
    spec.cached = compiled
    if is_package and spec.submodule_search_locations is not None:
        spec.submodule_search_locations.append(folder)
    return spec


def _content(path: str) -> bytes:
    file = os.open(path, _READING)
    try:
        content = os.read(file, _AT_ONCE)
        if len(content) == _AT_ONCE:
            parts = [content]
            while parts[-1]:
                parts.append(os.read(file, 1 << 20))
            content = b"".join(parts)
        return content
    finally:
        os.close(file)


def _four(number: int) -> bytes:
    return (number & 0xFFFFFFFF).to_bytes(4, "little")

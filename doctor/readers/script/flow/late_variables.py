"""Variables that a script sets behind the import of the library which reads them while it is imported.

https://github.com/huggingface/huggingface_hub/blob/v1.0.0/src/huggingface_hub/constants.py
https://github.com/huggingface/datasets/blob/4.0.0/src/datasets/config.py
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from doctor.readers.script.flow.program import text_of
from doctor.readers.script.flow.seen import Met

_OF_THE_HUB = frozenset({
    "HF_ENDPOINT", "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_ASSETS_CACHE", "HF_TOKEN_PATH",
    "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_ETAG_TIMEOUT", "HF_HUB_DOWNLOAD_TIMEOUT", "HF_HUB_DISABLE_XET",
    "HF_XET_CACHE", "HF_XET_HIGH_PERFORMANCE", "HF_HUB_ENABLE_HF_TRANSFER",
})  # fmt: skip
_OF_DATASETS = frozenset({"HF_DATASETS_CACHE", "HF_DATASETS_OFFLINE", "HF_DATASETS_IN_MEMORY_MAX_SIZE"})
#: packages that load the hub's constants: as such, or as soon as a name is taken out of them
_AT_ONCE = frozenset({"transformers", "datasets", "peft"})
_WITH_A_NAME = _AT_ONCE | {"trl", "huggingface_hub"}
_ENVIRON = frozenset({"os.environ", "environ"})
#: what makes a library read them again
_AGAIN = re.compile(r"\breload\(|\bos\.exec|\bsubprocess\.")


def late_variables(tree: ast.Module, text: str) -> Iterator[Met]:
    """Each variable that is set too late, with the package that has read it."""
    if "environ" not in text or _AGAIN.search(text):
        return
    imports = dict(_imports(tree))
    if not imports:
        return
    for name, node in _set(tree):
        readers = imports if name in _OF_THE_HUB else {"datasets"} & set(imports) if name in _OF_DATASETS else ()
        before = [package for package in readers if imports[package] < node.lineno]
        if before:
            yield Met(
                "variable_after_import", node, {"name": name, "package": min(before, key=lambda each: imports[each])}
            )


def _imports(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """(package, line) of what the file imports at its top, the first import of each."""
    seen: set[str] = set()
    for node in tree.body:
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [root for each in node.names if (root := each.name.partition(".")[0]) in _AT_ONCE]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [root] if (root := node.module.partition(".")[0]) in _WITH_A_NAME else []
        for name in names:
            if name not in seen:
                seen.add(name)
                yield name, node.lineno


def _set(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """(variable, statement) of `os.environ["X"] = ...`, `os.environ.setdefault("X", ...)` and `update`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and text_of(target.value) in _ENVIRON:
                    yield from ((name, node) for name in _text(target.slice))
        elif isinstance(node, ast.Expr) and isinstance(call := node.value, ast.Call):
            func = call.func
            if not isinstance(func, ast.Attribute) or text_of(func.value) not in _ENVIRON:
                continue
            if func.attr == "setdefault" and call.args:
                yield from ((name, node) for name in _text(call.args[0]))
            elif func.attr == "update":
                yield from ((each.arg, node) for each in call.keywords if each.arg)
                given = [each for each in call.args if isinstance(each, ast.Dict)]
                yield from ((name, node) for each in given for key in each.keys for name in _text(key))


def _text(node: ast.AST | None) -> tuple[str, ...]:
    return (node.value,) if isinstance(node, ast.Constant) and isinstance(node.value, str) else ()

"""Configuration files that a script itself opens: `config = yaml.safe_load(file)`, then `SFTConfig(**config["x"])`.

A file's keys are handed to the reader of the source as the syntax tree of a dictionary, with the lines of the file.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, TypedDict

from doctor.base.evidence import Observed
from doctor.base.fact import BrokenFile, RepeatedKey
from doctor.base.record import distinct
from doctor.readers.files.located import Located
from doctor.readers.files.settings import load_json, load_yaml, read_text
from doctor.readers.script.ast_names import CannotTell, Names, Spot
from doctor.readers.script.ast_scopes import Module, NameScope
from doctor.readers.script.python_source import ParsedFile

_YAML, _OMEGACONF, _JSON = "yaml", "omegaconf", "json"
#: functions that give what a file holds as dictionaries
LOADERS = {
    "yaml.safe_load": _YAML, "yaml.load": _YAML, "yaml.full_load": _YAML, "json.load": _JSON, "json.loads": _JSON,
    "omegaconf.OmegaConf.load": _OMEGACONF,
}  # fmt: skip
_OPENS = frozenset({"open", "io.open", "codecs.open"})
_READS = frozenset({"open", "read_text", "read", "read_bytes"})
_MOST_FILES = 10


@distinct
class ConfigFiles:
    """Files that the source opens by a path that can be told.

    Args:
        names: what names of the source stand for.
        cwd: the folder in which the command runs; None where nothing may be opened (a pasted script).
        path: what gives the text of an expression that names a file; raises CannotTell.

    """

    names: Names
    cwd: str | None
    path: Callable[[ast.AST, Spot], Any]
    broken: dict[str, BrokenFile] = field(default_factory=dict)
    repeated_keys: list[RepeatedKey] = field(default_factory=list)
    _read: dict[str, tuple[ast.Dict, Module]] = field(default_factory=dict)

    def tree(self, call: ast.Call, spot: Spot) -> tuple[ast.Dict, Spot]:
        """The dictionary that a call of a loader gives, and the spot of its keys.

        Raises:
            CannotTell: it is no such call, or the file is not known, absent or broken.

        """
        form = LOADERS.get(self.names.origin(call.func, spot))
        if form is None or not call.args or self.cwd is None:
            raise CannotTell
        expression, at = self._opened(call.args[0], spot, named=form == _OMEGACONF)
        path = os.path.join(self.cwd, str(self.path(expression, at)))  # noqa: PTH118 - the user's own path
        if path in self.broken:
            raise CannotTell
        if path not in self._read:
            if len(self._read) >= _MOST_FILES:
                raise CannotTell
            parsed = self._parsed(path, form)
            if isinstance(parsed, BrokenFile):
                self.broken[path] = parsed
                raise CannotTell
            self._read[path] = parsed
        tree, module = self._read[path]
        return tree, spot.at(module.scope, len(module.source.lines) + 1, module)

    def _parsed(self, path: str, form: str) -> tuple[ast.Dict, Module] | BrokenFile:
        """The file's keys as a tree, or what its parser stumbles over.

        Raises:
            CannotTell: the file cannot be opened.

        """
        found: Located = load_json(path) if form == _JSON else load_yaml(path, omegaconf=form == _OMEGACONF)
        text = read_text(path)
        if isinstance(text, BrokenFile):
            raise CannotTell
        if found.broken is not None:
            return found.broken
        self.repeated_keys += found.repeated_keys
        lines = text.replace("\r\n", "\n").split("\n")
        tree = _Tree(found.settings, lines).dictionary("", found.document)
        body = ast.Module(body=[], type_ignores=[])
        return tree, Module(ParsedFile(path, body, text, lines), NameScope(body))

    def _opened(self, node: ast.expr, spot: Spot, *, named: bool) -> tuple[ast.expr, Spot]:
        """The expression that names the file whose stream or text a loader is given."""
        if isinstance(node, ast.Name):
            binding, at = self.names.binding(node.id, spot)
            value = binding.entered or binding.value
            if isinstance(value, ast.Call) and not binding.parameter:
                return self._opened(value, at, named=named)
            if named:
                return node, spot
        if isinstance(node, ast.Call):
            if self.names.origin(node.func, spot) in _OPENS and node.args:
                return node.args[0], spot
            if isinstance(node.func, ast.Attribute) and node.func.attr in _READS:
                if node.func.attr == "read":
                    return self._opened(node.func.value, spot, named=False)
                return node.func.value, spot
        if named:
            return node, spot
        raise CannotTell


class _Span(TypedDict):
    """Where a node stands."""

    lineno: int
    col_offset: int
    end_lineno: int
    end_col_offset: int


@distinct
class _Tree:
    """Makes the syntax tree; a value stands where the file has its key."""

    settings: Mapping[str, Observed]
    lines: list[str]

    def dictionary(self, name: str, content: Mapping[str, Any]) -> ast.Dict:
        keys: list[ast.expr | None] = []
        values: list[ast.expr] = []
        for key, value in content.items():
            dotted = f"{name}.{key}" if name else str(key)
            line, column = self._start(dotted)
            keys.append(ast.Constant(str(key), lineno=line, col_offset=column, end_lineno=line, end_col_offset=column))
            values.append(self._value(dotted, value))
        return ast.Dict(keys, values, lineno=1, col_offset=0)

    def _value(self, dotted: str, value: Any) -> ast.expr:
        if isinstance(value, Mapping) and value:
            return self.dictionary(dotted, value)
        setting = self.settings.get(dotted)
        if setting is not None and not setting.known:
            return ast.Name("unknown", ctx=ast.Load(), **self._span(dotted))
        return _literal(value, self._span(dotted))

    def _start(self, dotted: str) -> tuple[int, int]:
        """Line, and bytes before the key in it; of a mapping, those of its first leaf."""
        setting = self.settings.get(dotted) or next(
            (each for name, each in self.settings.items() if name.startswith(f"{dotted}.")), None
        )
        place = setting.place if setting is not None else None
        if place is None or not place.line or place.line > len(self.lines):
            return 1, 0
        before = self.lines[place.line - 1][: (place.column or 1) - 1]
        return place.line, len(before.encode("utf-8", "surrogatepass"))

    def _span(self, dotted: str) -> _Span:
        """Where a value stands: behind the colon of its key, to the end of the line."""
        line, column = self._start(dotted)
        rest = self.lines[line - 1].encode("utf-8", "surrogatepass")
        colon = rest.find(b":", column)
        tail = rest[colon + 1 :].partition(b" #")[0].rstrip(b" ,\r\n")
        begin = colon + 1 + len(tail) - len(tail.lstrip())
        return {"lineno": line, "col_offset": begin, "end_lineno": line, "end_col_offset": colon + 1 + len(tail)}


def _literal(value: Any, span: _Span) -> ast.expr:
    if isinstance(value, list):
        return ast.List([_literal(each, span) for each in value], ctx=ast.Load(), **span)
    if isinstance(value, Mapping):
        keys = [ast.Constant(str(key), **span) for key in value]
        return ast.Dict(list(keys), [_literal(each, span) for each in value.values()], **span)
    if value is None or isinstance(value, (str, int, float, bool)):
        return ast.Constant(value, **span)
    return ast.Name("unknown", ctx=ast.Load(), **span)  # a date: no setting of the stack is one

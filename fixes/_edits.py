"""Edits of the files that users write: one value, one name or one argument; everything else stays as it is written.

A place is what findings and settings carry: line and column of the key (YAML, JSON) or of a keyword argument, an item
of a dictionary, an assignment to an item (`os.environ["X"] = "1"`), or the value of one of them (Python), counted from
1, columns in characters.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doctor.core.plan import Edit, EditFile, Refused, digest
from doctor.facts.base import Place

_PLAIN = re.compile(r"[A-Za-z_./][A-Za-z0-9_./-]*")  # a YAML word that needs no quotes, if it is none of these
_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "~"])


class Editor:
    """One file, read once; collects edits and gives the step that makes them.

    Raises:
        Refused: the file cannot be read, is not UTF-8, or does not hold at a place what was found there.

    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._edits: list[Edit] = []
        try:
            self._content = Path(path).read_bytes()
            self._text = self._content.decode("utf-8")
        except OSError as exc:
            msg = f"`{path}` cannot be read: {exc.strerror}"
            raise Refused(msg) from None
        except UnicodeDecodeError:
            msg = f"`{path}` is not UTF-8"
            raise Refused(msg) from None
        self._lines = [0, *(match.end() for match in re.finditer("\n", self._text))]

    def set_value(self, place: Place, value: Any) -> None:
        """Write `value` in place of the one that stands at `place`."""
        if self.path.endswith(".py"):
            node = self._python_pair(place).value
            self._replace(self._start(node), self._end(node), repr(value))
        elif self.path.endswith((".yaml", ".yml")):
            node = self._yaml_pair(place)[1]
            self._replace(node.start_mark.index, node.end_mark.index, yaml_scalar(value, node))
        else:
            start, end = self._json_value(place)
            self._replace(start, end, json.dumps(value, ensure_ascii=False))

    def rename(self, place: Place, name: str) -> None:
        """Give the keyword argument or key at `place` another name."""
        if self.path.endswith(".py"):
            keyword = self._keyword(place)
            start = self._start(keyword)
            self._replace(start, start + len(keyword.arg or ""), name)
        elif self.path.endswith((".yaml", ".yml")):
            node = self._yaml_pair(place)[0]
            self._replace(node.start_mark.index, node.end_mark.index, name)
        else:
            start = self._offset(place)
            _, end = self._json_key(start)
            self._replace(start, end, json.dumps(name))

    def rename_top(self, old: str, name: str) -> None:
        """Give a key of a JSON file's outermost object another name."""
        space, end = re.compile(r"[\s,:]*"), self._text.find("{") + 1
        decoder = json.JSONDecoder()
        try:
            while self._text[start := space.match(self._text, end).end()] != "}":  # type: ignore[union-attr]
                key, end = decoder.raw_decode(self._text, start)
                if key == old:
                    self._replace(start, end, json.dumps(name))
                    return
                _, end = decoder.raw_decode(self._text, space.match(self._text, end).end())  # type: ignore[union-attr]
        except (ValueError, IndexError):
            pass
        msg = f"`{self.path}` has no key `{old}` at its top"
        raise Refused(msg)

    def add_top(self, name: str, value: Any) -> None:
        """Write a new key first into a JSON file's outermost object, which is not empty, spaced as its first key is."""
        match = re.compile(r"\s*\{(?P<space>\s*)\"").match(self._text)
        if match is None:
            msg = f"`{self.path}` holds no JSON object with keys"
            raise Refused(msg)
        at = match.end("space")
        text = f"{json.dumps(name)}: {json.dumps(value)},"
        self._replace(at, at, text + (match["space"] or " "))

    def remove(self, place: Place) -> None:
        """Take the keyword argument, key or block at `place` out, with its line where it has one of its own."""
        if self.path.endswith(".py"):
            pair = self._python_pair(place)
            if pair.alone:
                msg = f"`{self.path}:{place.line}` is all that its block holds"
                raise Refused(msg)
            if pair.whole is None:
                self._cut(self._start(pair.first), self._end(pair.value), ",")
            else:
                self._cut(self._start(pair.whole), self._end(pair.whole), ";")
        elif self.path.endswith((".yaml", ".yml")):
            key, value = self._yaml_pair(place)
            end = len(self._text[: value.end_mark.index].rstrip())  # a block ends where the next thing begins
            self._cut(key.start_mark.index, end, ",")
        else:
            self._cut(self._offset(place), self._json_value(place)[1], ",")

    def step(self) -> EditFile:
        """All edits asked for, as a step of a plan."""
        return EditFile(self.path, digest(self._content), tuple(sorted(self._edits, key=lambda each: each.start)))

    def _replace(self, start: int, end: int, text: str) -> None:
        """Offsets count characters; steps count bytes."""
        first = len(self._text[:start].encode())
        self._edits.append(Edit(first, first + len(self._text[start:end].encode()), text))

    def _cut(self, start: int, end: int, separator: str) -> None:
        """Take text out with the separator behind it, else the one before it, and its line when that is left blank."""
        text = self._text
        behind = re.compile(rf"[ \t]*{separator}").match(text, end)
        if behind:
            end = behind.end()
        elif before := re.search(rf"{separator}\s*$", text[:start]):
            start = before.start()
        line_start = text.rfind("\n", 0, start) + 1
        line_end = text.find("\n", end)
        line_end = len(text) if line_end < 0 else line_end + 1
        rest = text[end:line_end].strip()
        if not text[line_start:start].strip() and (not rest or rest.startswith("#")):
            start, end = line_start, line_end
        elif behind:
            end += len(text[end:line_end]) - len(text[end:line_end].lstrip(" \t"))
        self._replace(start, end, "")

    def _offset(self, place: Place) -> int:
        if place.line is None or place.line > len(self._lines):
            raise self._refusal(place)
        return self._lines[place.line - 1] + (place.column or 1) - 1

    def _refusal(self, place: Place) -> Refused:
        return Refused(f"`{self.path}:{place.line}` does not hold what was found there")

    def _keyword(self, place: Place) -> ast.keyword:
        pair = self._python_pair(place)
        if not isinstance(pair.first, ast.keyword):
            raise self._refusal(place)
        return pair.first

    def _python_pair(self, place: Place) -> _Pair:
        at = self._offset(place)
        try:
            tree = ast.parse(self._content)
        except (SyntaxError, ValueError, RecursionError):
            msg = f"`{self.path}` is no Python that can be parsed"
            raise Refused(msg) from None
        for each in _python_pairs(tree):
            if at in {self._start(each.first), self._start(each.value)}:
                return each
        raise self._refusal(place)

    def _start(self, node: Any) -> int:
        return self._character(node.lineno, node.col_offset)

    def _end(self, node: Any) -> int:
        return self._character(node.end_lineno, node.end_col_offset)

    def _character(self, line: int, byte: int) -> int:
        start, *end = self._lines[line - 1 : line + 1]
        return start + len(self._text[start : end[0] if end else None].encode()[:byte].decode())

    def _yaml_pair(self, place: Place) -> tuple[Any, Any]:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError

        at = self._offset(place)
        try:
            root = YAML(typ="safe", pure=True).compose(self._text)
        except YAMLError:
            msg = f"`{self.path}` is no YAML that can be parsed"
            raise Refused(msg) from None
        for key, value in _pairs(root):
            if key.start_mark.index == at:
                return key, value
        raise self._refusal(place)

    def _json_key(self, start: int) -> tuple[str, int]:
        if self._text[start : start + 1] != '"':
            raise self._refusal(Place(self.path, self._text.count("\n", 0, start) + 1))
        key, end = json.JSONDecoder().raw_decode(self._text, start)
        return key, end

    def _json_value(self, place: Place) -> tuple[int, int]:
        _, end = self._json_key(self._offset(place))
        colon = re.compile(r"\s*:\s*").match(self._text, end)
        if colon is None:
            raise self._refusal(place)
        try:
            _, last = json.JSONDecoder().raw_decode(self._text, colon.end())
        except ValueError:
            raise self._refusal(place) from None
        return colon.end(), last


@dataclass(frozen=True)
class _Pair:
    """A name with its value: where it begins, the value, the statement if it is one, whether its block has no other."""

    first: ast.AST
    value: ast.expr
    whole: ast.stmt | None = None
    alone: bool = False


def _python_pairs(tree: ast.Module) -> Iterator[_Pair]:
    """Keyword arguments, items of dictionaries, assignments to items."""
    alone = {id(body[0]) for node in ast.walk(tree) for body in _bodies(node) if len(body) == 1}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from (_Pair(each, each.value) for each in node.keywords if each.arg)
        elif isinstance(node, ast.Dict):
            yield from (_Pair(key, value) for key, value in zip(node.keys, node.values, strict=True) if key)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            for first in (node, node.targets[0].slice):
                yield _Pair(first, node.value, node, alone=id(node) in alone)


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    if isinstance(node, ast.Module):
        return
    for name in ("body", "orelse", "finalbody"):
        body = getattr(node, name, None)
        if isinstance(body, list):
            yield body


def _pairs(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every key with its value, at any depth."""
    if node is None or isinstance(node.value, str):
        return
    for each in node.value:
        if isinstance(each, tuple):
            yield each
            yield from _pairs(each[1])
        else:
            yield from _pairs(each)


def yaml_scalar(value: Any, node: Any = None) -> str:
    """A value as YAML 1.1 reads it back, quoted as the old one was."""
    if not isinstance(value, str):
        return json.dumps(value)
    style = getattr(node, "style", None)
    if style == "'":
        return "'" + value.replace("'", "''") + "'"
    if style == '"' or not _PLAIN.fullmatch(value) or value.lower() in _WORDS:
        return '"' + "".join(map(_yaml_character, value)) + '"'
    return value


def _yaml_character(character: str) -> str:
    """A character between double quotes; YAML takes no unprintable one as it is."""
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08x}"

"""Edits of the files that users write: one value, one name or one argument; everything else stays as it is written.

What is to be changed is named by a setting as the facts hold it: its name, its value and its place. The place leads to
it: line and column of the key (YAML, JSON) or of a keyword argument, an item of a dictionary, an assignment to an item
(`os.environ["X"] = "1"`), or the value of one of them (Python), counted from 1, columns in characters. Name and value
must stand there still: files change while a doctor looks, and another setting may have moved into the place.
"""

from __future__ import annotations

import ast
import codecs
import io
import json
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doctor.base.evidence import Observed
from doctor.base.fact import BrokenFile, Settings
from doctor.catalogue.plan import Edit, EditFile, Refused, digest
from doctor.catalogue.settings import number

_PLAIN = re.compile(r"[A-Za-z_./][A-Za-z0-9_./-]*")  # a YAML word that needs no quotes, if it is none of these
_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "~"])


class Editor:
    """One file, read once; collects edits and gives the step that makes them.

    Raises:
        Refused: the file cannot be read or decoded, or does not hold at a place what was found there.

    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._edits: list[Edit] = []
        self._cuts: list[tuple[int, int, str]] = []  # start, end, separator
        try:
            self._content = Path(path).read_bytes()
        except OSError as exc:
            msg = f"`{path}` cannot be read: {exc.strerror}"
            raise Refused(msg) from None
        if path.endswith(".ipynb"):
            msg = f"`{path}` is a notebook: change it where its cells are shown"
            raise Refused(msg)
        self._bom = len(codecs.BOM_UTF8) if self._content.startswith(codecs.BOM_UTF8) else 0
        self._text, self._encoding = self._decoded()
        if re.search(r"\r(?!\n)", self._text):
            msg = f"`{path}` has line ends that are neither LF nor CRLF"
            raise Refused(msg)
        self._lines = [0, *(match.end() for match in re.finditer("\n", self._text))]

    def _decoded(self) -> tuple[str, str]:
        """The text without its byte order mark, and the encoding: UTF-8, in Python what the file declares."""
        content, encoding = self._content[self._bom :], "utf-8"
        try:
            if self._is_python and not self._bom:
                encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
            text = content.decode(encoding)
            exact = text.encode(encoding) == content
        except (UnicodeError, SyntaxError, LookupError):
            exact = False
        if not exact:
            msg = f"`{self.path}` is not {encoding.upper()}"
            raise Refused(msg)
        return text, encoding

    @property
    def _is_python(self) -> bool:
        return self.path.endswith(".py")

    @property
    def _is_yaml(self) -> bool:
        return self.path.endswith((".yaml", ".yml"))

    def set_value(self, setting: Observed, value: Any) -> None:
        """Write `value` in place of the one that stands there."""
        if self._is_python:
            node = self._python_pair(setting).value
            self._replace(self._start(node), self._end(node), self._literal(value, node))
        elif self._is_yaml:
            node = self._yaml_pair(setting)[1]
            self._replace(node.start_mark.index, node.end_mark.index, yaml_scalar(value, node))
        else:
            start, end = self._json_value(setting)
            self._replace(start, end, json.dumps(value, ensure_ascii=False))

    def rename(self, setting: Observed, name: str) -> None:
        """Give the keyword argument or key another name."""
        if self._is_python:
            keyword = self._keyword(setting)
            first = self._start(keyword)
            self._replace(first, first + len(keyword.arg or ""), name)
        elif self._is_yaml:
            key = self._yaml_pair(setting)[0]
            self._replace(key.start_mark.index, key.end_mark.index, yaml_scalar(name, key))
        else:
            at = self._verified(setting)
            self._replace(at, self._json_key(at)[1], json.dumps(name))

    def set_with(self, setting: Observed, value: Any, name: str, other: Any) -> None:
        """Write `value` as `set_value` does, and beside it `name` with the value `other`, written in the same way."""
        if self._is_python:
            pair = self._python_pair(setting)
            if not isinstance(pair.first, ast.keyword):
                raise self._refusal(setting)
            text = f"{self._literal(value, pair.value)}, {name}={self._literal(other, pair.value)}"
            self._replace(self._start(pair.value), self._end(pair.value), text)
        elif self._is_yaml:
            key, node = self._yaml_pair(setting)
            at = key.start_mark.index
            indent = self._text[self._text.rfind("\n", 0, at) + 1 : at]
            if indent.strip(" "):
                raise self._refusal(setting)
            end = "\r\n" if "\r\n" in self._text else "\n"
            self._replace(
                at, at, f"{name}: {yaml_scalar(other)}{end}{indent}"
            )  # before it: a comment stays behind its own
            self._replace(node.start_mark.index, node.end_mark.index, yaml_scalar(value, node))
        else:
            first, last = self._json_value(setting)
            self._replace(first, last, f"{json.dumps(value)}, {json.dumps(name)}: {json.dumps(other)}")

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
            msg = f"`{self.path}` has no JSON object with keys"
            raise Refused(msg)
        at = match.end("space")
        text = f"{json.dumps(name)}: {json.dumps(value)},"
        self._replace(at, at, text + (match["space"] or " "))

    def remove(self, setting: Observed) -> None:
        """Take the keyword argument, key or block out, with its line where it has one of its own."""
        if self._is_python:
            pair = self._python_pair(setting)
            if pair.alone:
                msg = f"`{self.path}:{_line(setting)}` is all that its block holds"
                raise Refused(msg)
            if pair.whole is None:
                self._cuts.append((self._start(pair.first), self._end(pair.value), ","))
            else:
                self._cuts.append((self._start(pair.whole), self._end(pair.whole), ";"))
        elif self._is_yaml:
            key, value = self._yaml_pair(setting)
            end = len(self._text[: value.end_mark.index].rstrip())  # a block ends where the next thing begins
            self._cuts.append((key.start_mark.index, end, ","))
        else:
            self._cuts.append((self._offset(setting), self._json_value(setting)[1], ","))

    def step(self) -> EditFile:
        """All edits asked for, as a step of a plan."""
        self._cut_all()
        return EditFile(self.path, digest(self._content), tuple(sorted(self._edits, key=lambda each: each.start)))

    def _replace(self, start: int, end: int, text: str) -> None:
        """Offsets count characters; steps count bytes, and write UTF-8."""
        if self._encoding != "utf-8" and not text.isascii():
            msg = f"`{self.path}` is {self._encoding.upper()}, and `{text}` cannot be written into it"
            raise Refused(msg)
        first = self._bom + len(self._text[:start].encode(self._encoding))
        self._edits.append(Edit(first, first + len(self._text[start:end].encode(self._encoding)), text))

    def _literal(self, value: Any, old: ast.expr) -> str:
        """A value as Python writes it, quoted as the old one was, else as the file quotes most."""
        inside = self._text[self._start(old) : self._end(old)]
        return python_literal(value, _usual_quote(inside) or _usual_quote(self._text) or '"')

    def _cut_all(self) -> None:
        """Take out what is to go; neighbours go as one, for the separator between them belongs to both."""
        together: list[tuple[int, int, str]] = []
        for start, end, separator in sorted(set(self._cuts)):
            if together and re.fullmatch(rf"\s*{separator}\s*", self._text[together[-1][1] : start]):
                start = together.pop()[0]  # noqa: PLW2901 - the pair is one now
            together.append((start, end, separator))
        self._cuts.clear()
        for each in together:
            self._cut(*each)

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

    def _offset(self, setting: Observed) -> int:
        place = setting.place
        if place is None or place.line is None or place.line > len(self._lines):
            raise self._refusal(setting)
        return self._lines[place.line - 1] + (place.column or 1) - 1

    def _refusal(self, setting: Observed) -> Refused:
        return Refused(f"`{self.path}:{_line(setting)}` does not hold `{setting.name}` as it was found there")

    def _keyword(self, setting: Observed) -> ast.keyword:
        pair = self._python_pair(setting)
        if not isinstance(pair.first, ast.keyword):
            raise self._refusal(setting)
        return pair.first

    def _python_pair(self, setting: Observed) -> _Pair:
        at = self._offset(setting)
        try:
            tree = ast.parse(self._text)
        except (SyntaxError, ValueError, RecursionError):
            msg = f"`{self.path}` is not valid Python"
            raise Refused(msg) from None
        for each in _python_pairs(tree):
            if at in {self._start(each.first), self._start(each.value)} and self._is_it(each, setting):
                return each
        raise self._refusal(setting)

    def _is_it(self, pair: _Pair, setting: Observed) -> bool:
        """Whether a pair has the setting's name and its value, as text or as what the text means."""
        text = self._text[self._start(pair.value) : self._end(pair.value)]
        try:
            value, known = ast.literal_eval(pair.value), True
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            value, known = None, False
        return _is_called(setting, pair.name) and _same(Observed.written(pair.name, value, known, text), setting)

    def _verified(self, setting: Observed) -> int:
        """Where a key begins that has the setting's path of names and its value still.

        Raises:
            Refused: the file holds something else there.

        """
        place = (setting.place.line, setting.place.column) if setting.place is not None else ()
        for each in self._written().values():
            there = (each.place.line, each.place.column) if each.place is not None else None
            if there == place and _is_called(setting, each.name) and _same(each, setting):
                return self._offset(setting)
        raise self._refusal(setting)

    def _written(self) -> Settings:
        """What the file says now, read as the facts read it."""
        from doctor.readers.files.json_positions import parse_json
        from doctor.readers.files.yaml_positions import parse_yaml

        located = parse_yaml(self._text, self.path) if self._is_yaml else parse_json(self._text, self.path)
        if isinstance(located.broken, BrokenFile):
            msg = f"`{self.path}` is no {'YAML' if self._is_yaml else 'JSON'} that can be parsed"
            raise Refused(msg)
        return located.settings

    def _start(self, node: Any) -> int:
        return self._character(node.lineno, node.col_offset)

    def _end(self, node: Any) -> int:
        return self._character(node.end_lineno, node.end_col_offset)

    def _character(self, line: int, byte: int) -> int:
        start, *end = self._lines[line - 1 : line + 1]
        return start + len(self._text[start : end[0] if end else None].encode()[:byte].decode())

    def _yaml_pair(self, setting: Observed) -> tuple[Any, Any]:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError

        at = self._verified(setting)
        try:
            root = YAML(typ="safe", pure=True).compose(self._text)
        except YAMLError:
            msg = f"`{self.path}` is not valid YAML"
            raise Refused(msg) from None
        for key, value in _pairs(root):
            if key.start_mark.index == at:
                return key, value
        raise self._refusal(setting)

    def _json_key(self, start: int) -> tuple[str, int]:
        if self._text[start : start + 1] != '"':
            msg = f"`{self.path}:{self._text.count(chr(10), 0, start) + 1}` does not hold what was found there"
            raise Refused(msg)
        key, end = json.JSONDecoder().raw_decode(self._text, start)
        return key, end

    def _json_value(self, setting: Observed) -> tuple[int, int]:
        _, end = self._json_key(self._verified(setting))
        colon = re.compile(r"\s*:\s*").match(self._text, end)
        if colon is None:
            raise self._refusal(setting)
        try:
            _, last = json.JSONDecoder().raw_decode(self._text, colon.end())
        except ValueError:
            raise self._refusal(setting) from None
        return colon.end(), last


def _line(setting: Observed) -> int | str:
    return setting.place.line or "?" if setting.place is not None else "?"


def _is_called(setting: Observed, written: str) -> bool:
    """Whether a key's path of names ends as the setting's name does: a fact leaves out what leads to its section."""
    ours, theirs = (name.replace("-", "_").split(".") for name in (setting.name, written))
    shorter = min(len(ours), len(theirs))
    return bool(shorter) and ours[-shorter:] == theirs[-shorter:]


def _same(written: Observed, expected: Observed) -> bool:
    """Whether a value is the one that was found: in its text, or in what it means (a number as text is that number)."""
    if expected.text and "".join(written.text.split()) == "".join(expected.text.split()):
        return True
    if not (written.known and expected.known):
        return False
    if isinstance(written.value, bool) or isinstance(expected.value, bool):
        return written.value is expected.value or str(written.value).lower() == str(expected.value).lower()
    both = number(written.value), number(expected.value)
    return written.value == expected.value or (None not in both and both[0] == both[1])


@dataclass(frozen=True)
class _Pair:
    """A name with its value: where it begins, the value, the statement if it is one, whether its block has no other."""

    name: str
    first: ast.AST
    value: ast.expr
    whole: ast.stmt | None = None
    alone: bool = False


def _python_pairs(tree: ast.Module) -> Iterator[_Pair]:
    """Keyword arguments, items of dictionaries, assignments to items."""
    alone = {id(body[0]) for node in ast.walk(tree) for body in _bodies(node) if len(body) == 1}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from (_Pair(each.arg, each, each.value) for each in node.keywords if each.arg)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant):
                    yield _Pair(str(key.value), key, value)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            index = node.targets[0].slice
            if isinstance(index, ast.Constant):
                for first in (node, index):
                    yield _Pair(str(index.value), first, node.value, node, alone=id(node) in alone)


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


def python_literal(value: Any, quote: str) -> str:
    """A value as Python source, its strings between `quote` where that needs no escaping."""
    if isinstance(value, (list, tuple)):
        inside = ", ".join(python_literal(each, quote) for each in value)
        if isinstance(value, list):
            return f"[{inside}]"
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    written = repr(value)
    if isinstance(value, str) and quote not in value and not written.startswith(quote):
        return quote + written[1:-1].replace(f"\\{written[0]}", written[0]) + quote
    return written


def _usual_quote(source: str) -> str | None:
    """The quotation mark that most strings of a piece of Python begin with, None where it has no string."""
    counts: Counter[str] = Counter()
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.STRING and '"""' not in token.string and "'''" not in token.string:
                counts[token.string[-1]] += 1
    except (tokenize.TokenError, SyntaxError, IndentationError):
        pass  # a piece of an expression ends before its file does: what was counted counts
    return counts.most_common(1)[0][0] if counts else None


def yaml_scalar(value: Any, node: Any = None) -> str:
    """A value as YAML 1.1 reads it back, quoted as the old one was."""
    if not isinstance(value, str):
        return json.dumps(value)
    style = getattr(node, "style", None)
    if style == "'":
        return "'" + value.replace("'", "''") + "'"
    if style == '"' or not _PLAIN.fullmatch(value) or value.lower() in {*_WORDS, ".nan", ".inf"}:
        return '"' + "".join(map(_yaml_character, value)) + '"'
    return value


def _yaml_character(character: str) -> str:
    """A character between double quotes; YAML takes no unprintable one as it is."""
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08x}"

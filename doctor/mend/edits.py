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
from functools import cached_property
from pathlib import Path
from typing import Any

from doctor.base.evidence import Observed
from doctor.base.fact import BrokenFile
from doctor.catalogue.plan import Edit, EditFile, Refused, digest
from doctor.catalogue.settings import number
from doctor.mend.pairs import Pair, python_pairs, yaml_pairs
from doctor.mend.proof import Asked, as_asked, as_rewritten
from doctor.mend.written import json_text, python_literal, usual_quote, yaml_scalar
from doctor.readers.files.located import Located


class Editor:
    """One file, read once; collects edits and gives the step that makes them.

    Raises:
        Refused: the file cannot be read or decoded, or does not hold at a place what was found there.

    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._edits: list[Edit] = []
        self._cuts: list[tuple[int, int, str]] = []  # start, end, separator
        self._asked: list[Asked] = []
        self._rewritten: dict[int, list[ast.AST]] = {}
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
            msg = f"`{path}` has line endings that are neither LF nor CRLF"
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
            text = self._literal(value, node)
            self._replace(self._start(node), self._end(node), text)
            self._rewritten[id(node)] = [_parsed(text)]
        else:
            name, start, end, node = self._written_at(setting)
            self._replace(start, end, yaml_scalar(value, node) if self._is_yaml else json_text(value))
            self._asked.append(Asked(name, name, (value,)))

    def rename(self, setting: Observed, name: str) -> None:
        """Give the keyword argument or key another name."""
        if self._is_python:
            keyword = self._keyword(setting)
            first = self._start(keyword)
            self._replace(first, first + len(keyword.arg or ""), name)
            self._rewritten[id(keyword)] = [ast.keyword(name, keyword.value)]
            return
        written = self._verified(setting)
        if self._is_yaml:
            key = self._yaml_pair(setting)[0]
            self._replace(key.start_mark.index, key.end_mark.index, yaml_scalar(name, key))
        else:
            at = self._offset(setting)
            self._replace(at, self._json_key(at)[1], json.dumps(name))
        self._asked.append(Asked(written.name, _beside(written.name, name)))

    def set_with(self, setting: Observed, value: Any, name: str, other: Any) -> None:
        """Write `value` as `set_value` does, and beside it `name` with the value `other`, written in the same way."""
        if self._is_python:
            self._set_with_in_python(setting, value, name, other)
            return
        written, first, last, node = self._written_at(setting)
        if self._is_yaml:
            at = self._yaml_pair(setting)[0].start_mark.index
            indent = self._text[self._text.rfind("\n", 0, at) + 1 : at]
            if indent.strip(" "):
                raise self._refusal(setting)
            end = "\r\n" if "\r\n" in self._text else "\n"
            self._replace(
                at, at, f"{name}: {yaml_scalar(other)}{end}{indent}"
            )  # before it: a comment stays behind its own
            self._replace(first, last, yaml_scalar(value, node))
        else:
            self._replace(first, last, f"{json_text(value)}, {json.dumps(name)}: {json_text(other)}")
        self._asked += [Asked(written, written, (value,)), Asked("", _beside(written, name), (other,))]

    def _set_with_in_python(self, setting: Observed, value: Any, name: str, other: Any) -> None:
        pair = self._python_pair(setting)
        if not isinstance(pair.first, ast.keyword):
            raise self._refusal(setting)
        texts = [self._literal(each, pair.value) for each in (value, other)]
        self._replace(self._start(pair.value), self._end(pair.value), f"{texts[0]}, {name}={texts[1]}")
        self._rewritten[id(pair.first)] = [
            ast.keyword(word, _parsed(text)) for word, text in zip((pair.first.arg, name), texts, strict=True)
        ]

    def rename_top(self, old: str, name: str) -> None:
        """Give a key of a JSON file's outermost object another name."""
        space, end = re.compile(r"[\s,:]*"), self._text.find("{") + 1
        decoder = json.JSONDecoder()
        try:
            while self._text[start := space.match(self._text, end).end()] != "}":  # type: ignore[union-attr]
                key, end = decoder.raw_decode(self._text, start)
                if key == old:
                    self._replace(start, end, json.dumps(name))
                    self._asked.append(Asked(old, name))
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
        text = f"{json.dumps(name)}: {json_text(value)},"
        self._replace(at, at, text + (match["space"] or " "))
        self._asked.append(Asked("", name, (value,)))

    def remove(self, setting: Observed) -> None:
        """Take the keyword argument, key or block out, with its line where it has one of its own."""
        if self._is_python:
            self._remove_from_python(setting)
            return
        if self._is_yaml:
            key, value = self._yaml_pair(setting)
            first, last = key.start_mark.index, value.end_mark.index
        else:
            first, last = self._offset(setting), self._json_value(setting)[1]
        # a block ends where the next thing begins
        self._cuts.append((first, len(self._text[:last].rstrip()), ","))
        self._asked.append(Asked(self._verified(setting).name, ""))

    def _remove_from_python(self, setting: Observed) -> None:
        pair = self._python_pair(setting)
        if pair.alone:
            msg = f"`{self.path}:{_line(setting)}` is the only statement of its block"
            raise Refused(msg)
        if pair.whole is None:
            first = self._start(pair.first)
            self._cuts.append((first, self._closed(first, self._end(pair.value)), ","))
            self._rewritten[id(pair.first)] = []
            if not isinstance(pair.first, ast.keyword):
                self._rewritten[id(pair.value)] = []
        else:
            self._cuts.append((self._start(pair.whole), self._end(pair.whole), ";"))
            self._rewritten[id(pair.whole)] = []

    def step(self) -> EditFile:
        """All edits asked for, as a step of a plan.

        Raises:
            Refused: they would change something else as well, or leave a file that cannot be parsed.

        """
        self._cut_all()
        step = EditFile(self.path, digest(self._content), tuple(sorted(self._edits, key=lambda each: each.start)))
        if self._edits and not self._is_proved(step.content(self._content)):
            msg = f"`{self.path}` cannot be edited here without changing something else in it"
            raise Refused(msg)
        return step

    def _is_proved(self, content: bytes) -> bool:
        """Whether a content says what the file says, but for what was asked for."""
        text = content[self._bom :].decode(self._encoding)
        if self._is_python:
            return as_rewritten(self._tree, text, self._rewritten)
        try:
            return as_asked(self._read(self._text).document, self._read(text).document, self._asked)
        except Refused:
            return False

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
        return python_literal(value, usual_quote(inside) or usual_quote(self._text) or '"')

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
        elif (before := re.search(rf"{separator}\s*$", text[:start])) and self._separates(before.start()):
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

    def _separates(self, at: int) -> bool:
        """Whether a separator is one: a comment may end with a comma."""
        return not self._is_python or at in self._operators

    def _closed(self, start: int, end: int) -> int:
        """Where an expression ends with the brackets around it, which are no part of its node."""
        inside = Counter(text for at, text in self._operators.items() if start <= at < end)
        missing = inside["("] - inside[")"]
        closing = sorted(at for at, text in self._operators.items() if at >= end and text == ")")
        return closing[missing - 1] + 1 if 0 < missing <= len(closing) else end

    @cached_property
    def _operators(self) -> dict[int, str]:
        """Operators and separators of a Python file, by where they stand."""
        return {
            self._lines[token.start[0] - 1] + token.start[1]: token.string
            for token in tokenize.generate_tokens(io.StringIO(self._text).readline)
            if token.type == tokenize.OP
        }

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

    def _python_pair(self, setting: Observed) -> Pair:
        at = self._offset(setting)
        for each in python_pairs(self._tree):
            if at in {self._start(each.first), self._start(each.value)} and self._is_it(each, setting):
                return each
        raise self._refusal(setting)

    @cached_property
    def _tree(self) -> ast.Module:
        try:
            return ast.parse(self._text)
        except (SyntaxError, ValueError, RecursionError):
            msg = f"`{self.path}` is not valid Python"
            raise Refused(msg) from None

    def _is_it(self, pair: Pair, setting: Observed) -> bool:
        """Whether a pair has the setting's name and its value, as text or as what the text means."""
        text = self._text[self._start(pair.value) : self._end(pair.value)]
        try:
            value, known = ast.literal_eval(pair.value), True
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            value, known = None, False
        return _is_called(setting, pair.name) and _same(Observed.written(pair.name, value, known, text), setting)

    def _verified(self, setting: Observed) -> Observed:
        """The key that has the setting's place, path of names and value still, under its whole path.

        Raises:
            Refused: the file holds something else there.

        """
        place = (setting.place.line, setting.place.column) if setting.place is not None else ()
        for each in self._read(self._text).settings.values():
            there = (each.place.line, each.place.column) if each.place is not None else None
            if there == place and _is_called(setting, each.name) and _same(each, setting):
                return each
        raise self._refusal(setting)

    def _read(self, text: str) -> Located:
        """What a text of this file says, read as the facts read it.

        Raises:
            Refused: it cannot be parsed.

        """
        from doctor.readers.files.json_positions import parse_json
        from doctor.readers.files.yaml_positions import parse_yaml

        located = parse_yaml(text, self.path) if self._is_yaml else parse_json(text, self.path)
        if isinstance(located.broken, BrokenFile):
            msg = f"`{self.path}` cannot be parsed as {'YAML' if self._is_yaml else 'JSON'}"
            raise Refused(msg)
        return located

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

        self._verified(setting)
        at = self._offset(setting)
        try:
            root = YAML(typ="safe", pure=True).compose(self._text)
        except YAMLError:
            msg = f"`{self.path}` is not valid YAML"
            raise Refused(msg) from None
        for key, value in yaml_pairs(root):
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
        self._verified(setting)
        _, end = self._json_key(self._offset(setting))
        colon = re.compile(r"\s*:\s*").match(self._text, end)
        if colon is None:
            raise self._refusal(setting)
        try:
            _, last = json.JSONDecoder().raw_decode(self._text, colon.end())
        except ValueError:
            raise self._refusal(setting) from None
        return colon.end(), last

    def _written_at(self, setting: Observed) -> tuple[str, int, int, Any]:
        """The key's path of names, where its value stands, and the value's node in YAML."""
        name = self._verified(setting).name
        if not self._is_yaml:
            return name, *self._json_value(setting), None
        node = self._yaml_pair(setting)[1]
        first = node.start_mark.index
        # a block ends where the next thing begins
        return name, first, first + len(self._text[first : node.end_mark.index].rstrip()), node


def _line(setting: Observed) -> int | str:
    return setting.place.line or "?" if setting.place is not None else "?"


def _beside(name: str, other: str) -> str:
    """The path of names of a key that stands beside another one."""
    outer, point, _ = name.rpartition(".")
    return f"{outer}{point}{other}"


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


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

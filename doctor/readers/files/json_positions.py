"""JSON with the position of every key, and with words for what people write that is no JSON."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import field
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any

from doctor.base.evidence import Observed, Place
from doctor.base.fact import BrokenFile, RepeatedKey
from doctor.base.patterns import later
from doctor.base.record import distinct
from doctor.readers.command.argv import secured
from doctor.readers.files.located import Located, repeated

_SPACE = later(r"[ \t\n\r]*")
_NUMBER = later(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORD = later(r"-?[A-Za-z_][A-Za-z_0-9]*")
_WORDS: dict[str, Any] = {
    "true": True, "false": False, "null": None,
    "NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf"),
}  # fmt: skip
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}


class _BadJson(Exception):  # noqa: N818 - becomes a BrokenFile
    """What is wrong, and at which offset."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


def parse_json(text: str, path: str) -> Located:
    """Read a JSON text into settings; see `doctor.facts.located`."""
    reader = _Reader(text, path)
    try:
        document = reader.whole()
    except _BadJson as exc:
        return Located(path, broken=BrokenFile(reader.place(exc.at), str(exc)))
    except RecursionError:
        return Located(path, broken=BrokenFile(Place(path), "it is nested too deeply"))
    if not isinstance(document, dict):
        kind = "a list" if isinstance(document, list) else "a single value"
        broken = BrokenFile(Place(path, 1, 1), f"it holds {kind} where an object {{...}} belongs")
        return Located(path, broken=broken)
    return Located(path, reader.settings, document, tuple(reader.repeated))


@distinct
class _Reader:
    """One pass over the text."""

    text: str
    path: str
    settings: dict[str, Observed] = field(default_factory=dict)
    repeated: list[RepeatedKey] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Note where lines begin."""
        self.lines = [0, *(match.end() for match in re.finditer("\n", self.text))]

    def place(self, at: int) -> Place:
        """Line and column of an offset."""
        line = bisect_right(self.lines, at)
        return Place(self.path, line, at - self.lines[line - 1] + 1)

    def whole(self) -> Any:
        """Read the document."""
        if self.text.startswith("\ufeff"):
            raise _BadJson("it begins with a byte order mark, which Python's json refuses", 0)
        start = self.skip(0)
        if start == len(self.text):
            raise _BadJson("it is empty", 0)
        value, at = self.value("", start, start)
        at = self.skip(at)
        if at != len(self.text):
            raise _BadJson(self.comment(at) or "text follows after the end of the object", at)
        return value

    def skip(self, at: int) -> int:
        """Offset of the next thing that is no white space."""
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def value(self, name: str, at: int, key: int, *, record: bool = True) -> tuple[Any, int]:
        """Value that starts at `at`, and where it ends."""
        first = self.text[at : at + 1]
        if first == "{":
            return self.mapping(name, at, key, record=record)
        if first == "[":
            return self.sequence(name, at, key, record=record)
        value, end = self.string(at) if first == '"' else self.word(at)
        self.note(name, value, at, end, key, record=record)
        return value, end

    def mapping(self, name: str, at: int, key: int, *, record: bool) -> tuple[dict[str, Any], int]:
        """Read an object."""
        result: dict[str, Any] = {}
        first: dict[str, Observed] = {}
        said: dict[str, Observed] = {}
        start, at = at, self.skip(at + 1)
        while self.text[at : at + 1] != "}":
            word, end, here = *self.key(at), at
            at = self.skip(end)
            if self.text[at : at + 1] != ":":
                raise _BadJson(self.comment(at) or f'`"{word}"` lacks its `:`', at)
            full = f"{name}.{word}" if name else word
            if word in result:
                first.setdefault(word, said[word])
                self.forget(full)
            begin = self.skip(at + 1)
            result[word], at = self.value(full, begin, here, record=record)
            text = self.text[begin:at].strip('"') if not isinstance(result[word], (dict, list)) else ""
            said[word] = Observed.written(full, result[word], True, text, self.place(here))
            at = self.next_item(at, "}")
        twice = (repeated(each, said[word]) for word, each in first.items())
        self.repeated += [each for each in twice if each is not None]
        if not result:
            self.note(name, {}, start, at + 1, key, record=record)
        return result, at + 1

    def sequence(self, name: str, at: int, key: int, *, record: bool) -> tuple[list[Any], int]:
        """Read an array; the objects in it are noted under their index."""
        result: list[Any] = []
        start, at = at, self.skip(at + 1)
        while self.text[at : at + 1] != "]":
            inside = record and bool(name) and self.text[at : at + 1] == "{"
            each, at = self.value(f"{name}.{len(result)}", at, at, record=inside)
            result.append(each)
            at = self.next_item(at, "]")
        self.note(name, result, start, at + 1, key, record=record)
        return result, at + 1

    def next_item(self, at: int, closing: str) -> int:
        """Offset of the next item, or of the closing bracket."""
        at = self.skip(at)
        found = self.text[at : at + 1]
        if found == closing:
            return at
        if found != ",":
            missing = f"`,` or `{closing}` is missing" if found else "it ends too early"
            raise _BadJson(self.comment(at) or missing, at)
        after = self.skip(at + 1)
        if self.text[after : after + 1] == closing:
            message = f"there is a comma before `{closing}`, which JSON forbids"
            raise _BadJson(message, at)
        return after

    def key(self, at: int) -> tuple[str, int]:
        """Read a quoted key."""
        found = self.text[at : at + 1]
        if found == '"':
            return self.string(at)
        if not found:
            raise _BadJson("it ends too early", at)
        if found == "'":
            raise _BadJson("a key is in single quotes, and JSON requires double quotes", at)
        raise _BadJson(self.comment(at) or "a key in double quotes belongs here", at)

    def string(self, at: int) -> tuple[str, int]:
        """Read a quoted string."""
        try:
            text, end = scanstring(self.text, at + 1, True)
        except JSONDecodeError as exc:
            message = "a string does not end on its line or holds a bad escape"
            raise _BadJson(message, min(exc.pos, at)) from None
        return str(text), int(end)

    def word(self, at: int) -> tuple[Any, int]:
        """Read a number or one of JSON's words."""
        match = _WORD.match(self.text, at)
        if match and match.group() in _WORDS:
            return _WORDS[match.group()], match.end()
        number = _NUMBER.match(self.text, at)
        if number is None or (match and match.end() > number.end()):
            raise _BadJson(self.no_value(at, match.group() if match else ""), at)
        after = self.text[number.end() : number.end() + 1]
        if after and after not in " \t\n\r,]}":
            raise _BadJson(self.comment(number.end()) or "a number is written as JSON does not allow", at)
        text = number.group()
        return (float(text) if number.group(1) or number.group(2) else self.integer(text, at)), number.end()

    def integer(self, text: str, at: int) -> int:
        """Read a whole number of a length that Python accepts."""
        try:
            return int(text)
        except ValueError:
            raise _BadJson("a number has thousands of digits", at) from None

    def no_value(self, at: int, word: str) -> str:
        """Words for something that is no JSON value."""
        found = self.text[at : at + 1]
        if not found:
            return "it ends too early"
        if word in _PYTHON_WORDS:
            return f"`{word}` is Python; JSON writes `{_PYTHON_WORDS[word]}`"
        if found == "'":
            return "a string is in single quotes, and JSON requires double quotes"
        return self.comment(at) or (f"`{word}` stands without quotes" if word else "a value is missing")

    def comment(self, at: int) -> str | None:
        """Words for a comment, None when there is none at `at`."""
        if self.text.startswith(("//", "/*", "#"), at):
            return "it has a comment, which JSON forbids"
        return None

    def note(self, name: str, value: Any, at: int, end: int, key: int, *, record: bool) -> None:
        """Keep a leaf."""
        if record and name:
            text = self.text[at:end] if not isinstance(value, (dict, list)) else ""
            self.settings[name] = secured(Observed.written(name, value, True, text.strip('"'), self.place(key)))

    def forget(self, name: str) -> None:
        """Drop what the first of two equal keys said."""
        for each in [each for each in self.settings if each == name or each.startswith(name + ".")]:
            del self.settings[each]

"""A Python file of the user's, read and parsed, never run: syntax tree, places with character columns, source text."""

from __future__ import annotations

import ast
import os
import re
import stat
import sys
import threading
import warnings
from dataclasses import field
from pathlib import Path

from doctor.base.evidence import Place
from doctor.base.fact import BrokenFile
from doctor.base.record import distinct
from doctor.readers.files import inputs

SCRIPT_LIMIT_BYTES = 4 * 1024 * 1024
_TEXT_LIMIT = 200
_parsing = threading.Lock()  # `warnings.catch_warnings` changes a list that all threads share

#: syntax that an older Python refuses: version, what it is called, how a line with it looks
_NEWER_SYNTAX = (
    ((3, 10), "`match` statements", r"^\s*match\s+[^=]+:\s*(#.*)?$"),
    ((3, 11), "`except*`", r"^\s*except\s*\*"),
    ((3, 12), "`type` statements", r"^\s*type\s+\w+\s*(\[[^\]]*\])?\s*="),
    ((3, 12), "type parameters", r"^\s*(async\s+def|def|class)\s+\w+\s*\["),
    ((3, 12), "f-strings with quotes or backslashes in their braces", r"""\b[fF][rR]?["'][^#]*\{"""),
    ((3, 13), "defaults of type parameters", r"^\s*(def|class|type)\s+\w+\s*\[[^\]]*="),
    ((3, 14), "template strings", r"""(?<![\w"'])[tT][rR]?["']"""),
    ((3, 14), "`except` with several types and no parentheses", r"^\s*except\s+[\w.]+\s*,\s*[A-Z][\w.]*\s*:"),
)


class SourceNotReadable(Exception):  # noqa: N818 - an answer, not an error
    """The file cannot be opened as a regular file of a sensible size; the message is a reason without the path."""


def read_regular(path: str, limit_bytes: int) -> bytes:
    """Content of a regular file of at most `limit_bytes`; never waits on a FIFO or a device.

    Raises:
        SourceNotReadable: absent, not a regular file, too large, or not permitted.

    """
    try:
        if (supposed := inputs.supposed(path)) is not None:
            return supposed
        if not stat.S_ISREG(Path(path).stat().st_mode):  # asked first: whoever waits to write to a pipe would go on
            raise SourceNotReadable("is a folder" if Path(path).is_dir() else "is not a regular file")
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError as exc:
        raise SourceNotReadable(_why(exc)) from exc
    except ValueError as exc:
        raise SourceNotReadable("has a null byte in its name") from exc
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise SourceNotReadable("is a folder" if stat.S_ISDIR(about.st_mode) else "is not a regular file")
        if about.st_size > limit_bytes:
            raise SourceNotReadable(f"is larger than the {limit_bytes // 2**20} MB that are read of such a file")
        with os.fdopen(descriptor, "rb", closefd=False) as handle:
            content = handle.read(limit_bytes + 1)
    except OSError as exc:
        raise SourceNotReadable(_why(exc)) from exc
    finally:
        os.close(descriptor)
    inputs.note(path, content[:limit_bytes])
    return content[:limit_bytes]


def _why(exc: OSError) -> str:
    return "does not exist" if isinstance(exc, FileNotFoundError) else (exc.strerror or "cannot be opened").lower()


@distinct
class ParsedFile:
    """One parsed file. Columns count characters from 1, as editors do; `ast` counts bytes from 0."""

    path: str
    tree: ast.Module
    text: str
    lines: list[str] = field(default_factory=list)

    def place(self, node: ast.AST) -> Place:
        """Where a node begins."""
        line, offset = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        return Place(self.path, line, self._characters(line, offset) + 1)

    def segment(self, node: ast.AST) -> str:
        """Source text of an expression on one line, at most 200 characters."""
        first, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", None) or 1
        start = self._characters(first, getattr(node, "col_offset", 0))
        end = self._characters(last, getattr(node, "end_col_offset", None) or 0)
        if first == last:
            text = self._line(first)[start:end]
        else:
            between = [self._line(number).strip() for number in range(first + 1, min(last, first + 20))]
            text = " ".join((self._line(first)[start:], *between, self._line(last)[:end].strip()))
        return text if len(text) <= _TEXT_LIMIT else text[: _TEXT_LIMIT - 1] + "…"

    def _line(self, number: int) -> str:
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def _characters(self, number: int, byte_offset: int) -> int:
        line = self._line(number)
        if line.isascii():
            return byte_offset
        return len(line.encode("utf-8", "surrogatepass")[:byte_offset].decode("utf-8", "ignore"))


def parse(content: bytes, path: str) -> ParsedFile | BrokenFile:
    """Parse a file's bytes with the encoding that they declare."""
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        return BrokenFile(Place(path, line), "not Python source: it contains null bytes")
    try:
        text = _decode(content)
    except (SyntaxError, LookupError) as exc:
        return BrokenFile(Place(path, 1), f"unknown encoding declared: {exc}")
    except UnicodeDecodeError as exc:
        line = content.count(b"\n", 0, exc.start) + 1
        return BrokenFile(Place(path, line), f"a byte that is not {exc.encoding} text")
    try:
        with _parsing, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the user's invalid escapes are not the doctor's to print
            tree = ast.parse(text)
    except SyntaxError as exc:
        return _broken(exc, text, path)
    except (ValueError, OverflowError) as exc:
        return BrokenFile(Place(path), f"not Python source: {exc}")
    except (RecursionError, MemoryError):
        return BrokenFile(Place(path), "nested too deeply to be parsed")
    return ParsedFile(path, tree, text, _split_lines(text))


def _decode(content: bytes) -> str:
    import io
    import tokenize

    encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    return content.decode(encoding)


def _split_lines(text: str) -> list[str]:
    """Lines as Python counts them: a form feed or a Unicode line separator does not end one."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _broken(exc: SyntaxError, text: str, path: str) -> BrokenFile:
    lines = _split_lines(text)
    line = exc.lineno or None
    written = lines[line - 1] if line and line <= len(lines) else ""
    message = (exc.msg or "invalid syntax").replace("\n", " ")
    ours = sys.version_info[:2]
    for version, what, pattern in _NEWER_SYNTAX:
        if version > ours and re.search(pattern, written):
            message = (
                f"{message}; {what} need Python {version[0]}.{version[1]}, and the doctor reads this file with "
                f"Python {ours[0]}.{ours[1]}"
            )
            break
    return BrokenFile(Place(path, line, exc.offset or None), message)

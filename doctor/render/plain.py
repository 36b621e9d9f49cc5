"""Keeps control sequences out of what is printed: text of logs, files and commands must not command a terminal.

A console that draws passes its text through `plain` before it colours it; whatever else is written to the process's
output streams passes through it there.
"""

from __future__ import annotations

import io
from typing import Any

from doctor.base.patterns import later

#: CSI with its parameters, OSC and other strings up to their end, and sequences of two characters
#: https://invisible-island.net/xterm/ctlseqs/ctlseqs.html
_SEQUENCE = later(
    "\x1b(?:\\[[0-?]{0,64}[ -/]{0,8}[@-~]|[\\]PX^_][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\\\)|[ -/]{0,4}[0-~])"
)
#: half of a pair, which no encoding writes: of a damaged file, or a byte of a file's name that is no UTF-8
_HALF = later("[\ud800-\udfff]")
#: C0 and C1 but for tab, line feed and carriage return; DEL; what turns the direction of text around
#: https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters
_CONTROL = later("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_REPLACEMENT = "\ufffd"


def plain(text: str) -> str:
    """The text without control sequences, as UTF-8 can write it; a control character that is left is U+FFFD."""
    if text.replace("\n", "").isprintable():  # none of those is; most text is, and needs no expression compiled
        return text
    if _HALF.search(text):
        text = text.encode("utf-8", "backslashreplace").decode()
    if not _CONTROL.search(text):
        return text
    return _CONTROL.sub(_REPLACEMENT, _SEQUENCE.sub("", text))


class PlainOutput(io.TextIOWrapper):
    """A text stream of the process that lets no control sequence through; bytes for its buffer pass as they are."""

    replaced: io.TextIOWrapper | None = None

    def write(self, text: str, /) -> int:
        """Write the text, cleaned; gives the number of characters as it was."""
        super().write(plain(text))
        return len(text)

    def write_drawn(self, text: str) -> int:
        """Write what a console drew of clean text: its colours and movements are its own."""
        return super().write(text)


class Drawn:
    """The stream as a console sees it, which cleans its text itself.

    Args:
        stream: that cleans what others write.

    """

    def __init__(self, stream: PlainOutput) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write what was drawn."""
        return self._stream.write_drawn(text)

    def __getattr__(self, name: str) -> Any:
        """Everything else is the stream's."""
        return getattr(self._stream, name)


def plain_output(stream: io.TextIOWrapper) -> PlainOutput:
    """The same stream, cleaned."""
    stream.flush()
    made = PlainOutput(
        stream.buffer, encoding=stream.encoding, errors="backslashreplace", line_buffering=stream.line_buffering,
        write_through=stream.write_through, newline="\n",
    )  # fmt: skip
    made.replaced = stream  # which would close the buffer when nobody holds it any more
    return made

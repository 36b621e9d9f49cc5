"""Text with colours, and the paper that it is printed on where nobody sees colours: a file, a pipe.

Most output goes into a log or to an agent, and importing `rich` takes longer than drawing a report. So text is kept
here, and `rich` draws it where there is a terminal, a table, or a character whose width it has to tell.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias

from doctor.render.plain import plain

if TYPE_CHECKING:
    from rich.console import Console as RichConsole
    from rich.text import Text as RichText

#: control characters that move a printer: they are no text
_MOVES = str.maketrans("", "", "\x07\x08\x0b\x0c\r")
#: characters beyond ASCII of our own words that take one column each; tests hold them against `rich`
SINGLE = "·✗▲–—‘’“”…→←×≥≤≠≈✓•°±äöüé▁▂▃▄▅▆▇█"
_WITHOUT_SINGLE = str.maketrans("", "", SINGLE)


class Span(NamedTuple):
    """Characters of one style, as offsets."""

    start: int
    end: int
    style: str


class Text:
    """Characters with styles; `rich` takes it wherever it takes its own."""

    __slots__ = ("plain", "spans", "style")

    def __init__(self, plain: str = "", style: str = "") -> None:
        self.plain = plain.translate(_MOVES)
        self.style = style
        self.spans: list[Span] = []

    @classmethod
    def assemble(cls, *parts: str | Text | tuple[str, str]) -> Text:
        """One text of several, each alone or with its style."""
        made = cls()
        for each in parts:
            made.append(*(each if isinstance(each, tuple) else (each,)))
        return made

    def append(self, text: str | Text, style: str = "") -> Text:
        """Put text behind; gives itself."""
        at = len(self.plain)
        told = text if isinstance(text, Text) else Text(text, style)
        if told.plain:
            self.plain += told.plain
            if told.style:
                self.spans.append(Span(at, len(self.plain), told.style))
            self.spans += [Span(start + at, end + at, each) for start, end, each in told.spans]
        return self

    def __add__(self, other: str | Text) -> Text:
        """Both, as a new text."""
        return self[:].append(other)

    def __getitem__(self, part: slice) -> Text:
        """A part without gaps, as a new text."""
        start, end, _ = part.indices(len(self.plain))
        return self._part(start, max(start, end))

    def __len__(self) -> int:
        """How many characters there are."""
        return len(self.plain)

    def __str__(self) -> str:
        """The characters alone."""
        return self.plain

    def __rich__(self) -> RichText:
        """The same as `rich` has it."""
        from rich.text import Span as RichSpan
        from rich.text import Text as RichText

        return RichText(self.plain, style=self.style, spans=[RichSpan(*each) for each in self.spans])

    @property
    def cell_len(self) -> int:
        """Columns that it takes on a terminal."""
        return cell_len(self.plain)

    def rstrip(self) -> None:
        """Take blanks off its end."""
        length = len(self.plain.rstrip())
        self.plain = self.plain[:length]
        self.spans = [Span(start, min(end, length), style) for start, end, style in self.spans if start < length]

    def divide(self, offsets: Iterable[int]) -> list[Text]:
        """The parts between offsets, which rise."""
        return [self._part(start, end) for start, end in pairwise([0, *offsets, len(self.plain)])]

    def lines(self) -> list[Text]:
        """The parts between line breaks, which are left out."""
        found, at = [], 0
        for each in self.plain.split("\n"):
            found.append(self._part(at, at + len(each)))
            at += len(each) + 1
        return found

    def wrapped(self, width: int) -> list[Text]:
        """Lines of at most `width` columns, broken between words; a longer word is cut where it must be."""
        found: list[Text] = []
        for line in self.lines():
            whole = _without_tabs(line)
            for each in whole.divide(_breaks(whole.plain, width)):
                part = each
                while part.plain[-1:].isspace() and max(len(part), part.cell_len) > width:
                    part = part[:-1]
                found.append(part)
        return found

    def _part(self, start: int, end: int) -> Text:
        made = Text(self.plain[start:end], self.style)
        made.spans = [
            Span(max(each.start, start) - start, min(each.end, end) - start, each.style)
            for each in self.spans
            if each.start < end and each.end > start
        ]
        return made


def _without_tabs(text: Text) -> Text:
    if "\t" not in text.plain:
        return text
    told = text.__rich__()
    told.expand_tabs(8)
    made = Text(told.plain, text.style)
    made.spans = [Span(each.start, each.end, str(each.style)) for each in told.spans]
    return made


def cell_len(text: str) -> int:
    """Columns of a terminal that a text takes."""
    rest = text if text.isascii() else text.translate(_WITHOUT_SINGLE)
    if rest.isascii() and rest.isprintable():
        return len(text)
    from rich.cells import cell_len as measured

    return measured(text)


@lru_cache(maxsize=1)
def _words() -> re.Pattern[str]:
    return re.compile(r"\s*\S+\s*")


def _breaks(text: str, width: int) -> Iterator[int]:
    """Offsets at which the lines behind the first one begin; blanks at the end of a line may stand over."""
    used = 0
    for found in _words().finditer(text):
        at, word = found.start(), found[0]
        needed = cell_len(word.rstrip())
        if used + needed <= width:
            used += cell_len(word)
            continue
        pieces = [word] if needed <= width else list(_pieces(word, width))
        for piece in pieces:
            if at:
                yield at
            at += len(piece)
        used = cell_len(pieces[-1])


def _pieces(word: str, width: int) -> Iterator[str]:
    """A word in parts of at most `width` columns."""
    start = used = 0
    for at, character in enumerate(word):
        size = cell_len(character)
        if used + size > width:
            yield word[start:at]
            start, used = at, 0
        used += size
    yield word[start:]


class Paper:
    """A console without colours; what only `rich` can draw, it draws on the same paper."""

    is_terminal = False

    def __init__(self, file: IO[str], width: int) -> None:
        self.file, self.width = file, width
        self.encoding = (getattr(file, "encoding", None) or "utf-8").lower()
        self._rich: RichConsole | None = None

    def print(self, *objects: Any, soft_wrap: bool = False, **more: Any) -> None:
        """Print a text, its lines broken at the width unless `soft_wrap`; whatever else as `rich` does.

        Raises:
            SystemExit: nobody reads any more.

        """
        told = objects[0] if objects else ""
        if more or len(objects) > 1 or not isinstance(told, str | Text):
            self.rich.print(*objects, soft_wrap=soft_wrap, **more)
            return
        text = told if isinstance(told, Text) else Text(told)
        lines = map(_without_tabs, text.lines()) if soft_wrap else text.wrapped(self.width)
        try:
            self.file.write("".join([f"{plain(each.plain)}\n" for each in lines]))
            self.file.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(1) from None

    @property
    def rich(self) -> RichConsole:
        """The console of `rich` that draws on the same paper."""
        if self._rich is None:
            from doctor.render.terminal import terminal

            self._rich = terminal(self.file, color=False, width=self.width)
        return self._rich

    def __getattr__(self, name: str) -> Any:
        """Everything else is that console's."""
        return getattr(self.rich, name)


if TYPE_CHECKING:
    #: either of both
    Console: TypeAlias = RichConsole | Paper

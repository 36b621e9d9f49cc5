"""Text that a terminal broke at its last column, put together again where that is sure.

tmux, a console of Windows and `script` copy what stands on the screen: a line that was longer than the window goes on
in the next one. Whoever pastes that gives a log in which no line is wider than the window, many have just that width,
and words are cut there. Only such a text is taken for one, and of its full lines only those are joined whose next line
does not begin as lines of logs do: what stays apart is read as it is written.
"""

from __future__ import annotations

from pathlib import Path
from unicodedata import east_asian_width

from doctor.base.patterns import later
from doctor.base.record import record
from doctor.logs.read.streams import StreamError, open_stream

#: what somebody pastes; a log of megabytes was written by a program
LARGEST_BYTES = 1 << 20
#: columns of terminals
_NARROWEST, _WIDEST = 60, 260
#: full lines, and words cut at the last column, that must be there; the share of full lines that may end by chance
_FEWEST_FULL, _FEWEST_CUTS, _MOST_BY_CHANCE = 4, 3, 0.25
_CUT = later(r"^[^\W\d]{2}$")  # a letter on either side; a figure may end a line of its own
#: by these, with figures made equal, ends of lines are told apart: a terminal cuts anywhere, a program that writes
#: lines of one width ends them alike
_END = 8
_FIGURES = later(r"\d[\d.]*")
_BEGINNING = 5  # a line that begins with the same characters as the one before is the next of its kind
#: how a line of a log begins
_BEGINS = later(
    r"Traceback \(most recent| {2,}File \"| {4,}\S|\^|~|\[?rank|\[[EWIDF]?\d|\(\w{1,60} |20\d\d[-/]\d|\d\d:\d\d:\d\d"
    r"|(?:INFO|WARN|WARNING|ERROR|DEBUG|CRITICAL)\b|[EWIF]\d{4} |(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}"
    r"(?:Error|Exception|Interrupt|Warning|Exit)\b|During handling of|The above exception|[+$#>] |\{['\"]"
    r"| *\d{1,3}%\||[\w-]{1,40}@[\w-]{1,60}:"
)
#: what the last column of a table, a box or a rule shows
_BORDER = later(r"(?:[│┃|║╮╯┐┘╗╝]|([+\-=_*#~─━═])\1)$")


@record
class Rejoined:
    """A text whose broken lines are whole again.

    Args:
        lines: of the text; `numbers`: for each the number of the line of the file that it begins in, from 1.
        total: lines of the file.

    """

    lines: tuple[str, ...]
    numbers: tuple[int, ...]
    total: int


def rejoined(path: str) -> Rejoined | None:
    """The text of a small file, put together; None where it was not broken, or nothing is sure."""
    try:
        if not 0 < Path(path).stat().st_size <= LARGEST_BYTES:
            return None
        with open_stream(path, explicit=False) as stream:
            data = b""
            for portion in stream:  # packed, it may be a thousand times its size
                data += portion
                if len(data) > LARGEST_BYTES:
                    return None
    except (OSError, StreamError):
        return None
    return of_text(data)


def of_text(data: bytes) -> Rejoined | None:
    """The same for a text in UTF-8."""
    if b"\x1b" in data or b"\r" in data or max(map(len, data.split(b"\n"))) > 4 * _WIDEST:
        return None
    return joined(data.decode("utf-8", "replace").removesuffix("\n").split("\n"))


def joined(lines: list[str]) -> Rejoined | None:
    """The lines put together, None where they were not broken."""
    widths = [_width(each) for each in lines]
    width = max(widths, default=0)
    if not _NARROWEST <= width <= _WIDEST:
        return None
    full = [at for at, each in enumerate(widths[:-1]) if each == width]
    goes_on = [at for at in full if _goes_on(lines[at], lines[at + 1])]
    cuts = {_FIGURES.sub("0", lines[at])[-_END:] for at in goes_on if _CUT.match(lines[at][-1] + lines[at + 1][0])}
    if len(full) < _FEWEST_FULL or len(cuts) < _FEWEST_CUTS or len(goes_on) < (1 - _MOST_BY_CHANCE) * len(full):
        return None
    inside = {at + 1 for at in goes_on}
    starts = [at for at in range(len(lines)) if at not in inside]
    ends = [*starts[1:], len(lines)]
    whole = ("".join(lines[start:end]).rstrip() for start, end in zip(starts, ends, strict=True))
    return Rejoined(tuple(whole), tuple(each + 1 for each in starts), len(lines))


def _goes_on(line: str, following: str) -> bool:
    if not following or following[:_BEGINNING] == line[:_BEGINNING]:
        return False
    return _BORDER.search(line) is None and _BEGINS.match(following) is None


def _width(text: str) -> int:
    """Columns of a terminal."""
    return len(text) if text.isascii() else sum(1 + (east_asian_width(each) in "WF") for each in text)

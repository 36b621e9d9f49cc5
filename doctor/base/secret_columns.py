"""Secrets in tables, whose name stands only above them: a header of CSV, TSV or Markdown, and the rows below it.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Optional

from doctor.base.patterns import later
from doctor.base.secret_looks import is_secret
from doctor.base.secret_names import is_secret_name

#: between the cells of a table, and what is taken for one alone where it stands in a line
_BETWEEN = ("\t", "|", ",", ";")
#: names of columns are short, and are no sentence
_HEADING = later(r"[ \t]{0,40}[\"']?[^\W\d][\w.\- /()]{0,40}[\"']?[ \t]{0,40}\Z")
_RULE = later(r"[ \t|:+=\-]{3,}\Z")  # between header and rows
_MOST_ROWS, _MOST_CELLS, _LONGEST = 2000, 64, 4096
_BLANKS = "[ \\t]{0,40}"
#: a cell in quotes may hold what stands between cells
_CELL = {
    each: later(
        rf"{_BLANKS}(?:\"(?P<q>(?:[^\"\n]|\"\"){{0,4096}})\"{_BLANKS}(?={re.escape(each)}|$)"
        rf"|(?P<b>[^{re.escape(each)}\n]{{0,4096}}))"
    )
    for each in _BETWEEN
}


def cells_in(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of every cell that is a secret by the name of its column."""
    wanted: dict[int, str] = {}
    between, width, rows, place = "", 0, 0, 0
    for line in text.split("\n"):
        bare = line.rstrip("\r")
        if wanted and rows < _MOST_ROWS and _RULE.match(bare):
            pass
        elif wanted and rows < _MOST_ROWS and (cells := _cells(bare, between)) is not None and len(cells) == width:
            rows += 1
            for column, name in wanted.items():
                start, end = cells[column]
                if is_secret(name, bare[start:end]):
                    yield place + start, place + end
        else:
            between, wanted, width = _header(bare)
            rows = 0
        place += len(line) + 1


def _header(line: str) -> tuple[str, dict[int, str], int]:
    """What stands between the cells of a header, the columns of secrets by place, and how many columns there are."""
    for between in _BETWEEN:
        if between in line and (cells := _cells(line, between)) is not None:
            names = [line[start:end].strip() for start, end in cells]
            inner = names[1:-1] if between == "|" and len(names) > 2 and not names[0] and not names[-1] else names
            wanted = {at: name for at, name in enumerate(names) if name and is_secret_name(name)}
            if wanted and len(inner) > 1 and all(_HEADING.match(each) for each in inner):
                return between, wanted, len(names)
    return "", {}, 0


def _cells(line: str, between: str) -> Optional[list[tuple[int, int]]]:
    """Start and end of each cell of a line, without quotes and blanks around it; None where it is no row."""
    if len(line) > _LONGEST or between not in line:
        return None
    found: list[tuple[int, int]] = []
    place = 0
    while len(found) <= _MOST_CELLS:
        match = _CELL[between].match(line, place)
        if match is None:
            return None
        group = "q" if match["q"] is not None else "b"
        start, end = match.span(group)
        found.append((start, start + len(line[start:end].rstrip())))
        place = match.end()
        if place >= len(line):
            return found
        place += 1
    return None

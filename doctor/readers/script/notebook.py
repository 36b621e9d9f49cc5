"""The code of a notebook, as one Python source, and the shell commands in it.

https://nbformat.readthedocs.io/en/latest/format_description.html; magics as IPython defines them.
"""

from __future__ import annotations

import json
from typing import Any

from doctor.base.patterns import later
from doctor.base.record import record

_MAGIC = later(r"^(\s*)([%!?].*|[\w.]+\?{1,2})$")
_ASSIGNED = later(r"^(\s*[\w.]+\s*=\s*)([%!].*)$")
_FOREIGN = (
    "%%bash", "%%sh", "%%script", "%%html", "%%javascript", "%%writefile", "%%file", "%%latex", "%%markdown", "%%perl",
)  # fmt: skip


class NotebookError(ValueError):
    """The file is no notebook; the message is a clause."""


@record
class Cells:
    """Source of all code cells, one behind the other, and (line, command) of what they hand to a shell."""

    source: str
    shell: tuple[tuple[int, str], ...]


def cells(content: str) -> Cells:
    """Read a notebook of format 3 or newer.

    Raises:
        NotebookError: it is none.

    """
    try:
        book = json.loads(content)
    except (ValueError, RecursionError):
        raise NotebookError("it is not JSON") from None
    found = book.get("cells") if isinstance(book, dict) else None
    if found is None and isinstance(book, dict) and isinstance(book.get("worksheets"), list):
        found = [cell for sheet in book["worksheets"] for cell in sheet.get("cells", ())]
    if not isinstance(found, list):
        raise NotebookError("it has no cells")
    lines: list[str] = []
    shell: list[tuple[int, str]] = []
    for cell in found:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            _cell(_source(cell), lines, shell)
    return Cells("\n".join(lines) + "\n", tuple(shell))


def _source(cell: dict[str, Any]) -> list[str]:
    source = cell.get("source", cell.get("input", ""))
    text = "".join(map(str, source)) if isinstance(source, list) else str(source)
    return text.split("\n")


def _cell(code: list[str], lines: list[str], shell: list[tuple[int, str]]) -> None:
    first = next((each.strip() for each in code if each.strip()), "")
    if first.startswith(_FOREIGN):
        if first.startswith(("%%bash", "%%sh")):
            shell.append((len(lines) + 2, "\n".join(code[1:])))
        lines += [f"# {each}" for each in code]
        return
    for part in _joined(code):
        line = part[0]
        magic, assigned = _MAGIC.match(line), _ASSIGNED.match(line)
        if magic:
            if magic[2].startswith("!"):
                shell.append((len(lines) + 1, "\n".join((magic[2][1:], *part[1:]))))
            lines.append(f"{magic[1]}pass  # {magic[2]}")
        elif assigned:
            lines.append(f"{assigned[1]}None  # {assigned[2]}")
        else:
            lines.append(line)
        lines += [f"# {each}" for each in part[1:]]


def _joined(code: list[str]) -> list[list[str]]:
    """Lines of a cell; a magic or a shell command that ends with a backslash takes the lines it goes on in.

    https://github.com/ipython/ipython/blob/9.5.0/IPython/core/inputtransformer2.py (`find_end_of_continued_line`)
    """
    found: list[list[str]] = []
    goes_on = False
    for line in code:
        if goes_on:
            found[-1].append(line)
        else:
            found.append([line])
        begins = goes_on or _MAGIC.match(line) or _ASSIGNED.match(line)
        goes_on = bool(begins) and line.rstrip("\r").endswith("\\")
    return found

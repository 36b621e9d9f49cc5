"""What the cells of a notebook printed, as the lines of a log.

A notebook keeps the output of every cell, with the exception that ended it
(https://nbformat.readthedocs.io/en/latest/format_description.html#code-cell-outputs).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SUFFIX = ".ipynb"
_MOST_BYTES = 64 << 20


def is_notebook(path: str) -> bool:
    """Whether a file is one by its name, and of a size that is read."""
    return path.endswith(SUFFIX) and Path(path).is_file() and Path(path).stat().st_size <= _MOST_BYTES


def output_lines(text: str) -> list[str] | None:
    """What the cells printed, in the order in which they ran; None for what is no notebook.

    Who runs another cell after one that failed got over that failure: only the last cell that ran fails for good.
    """
    try:
        book = json.loads(text)
        cells = [each for each in _cells(book) if each.get("cell_type") == "code"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    cells.sort(key=lambda each: _count(each) or 0)
    ran = [place for place, each in enumerate(cells) if _count(each) or each.get("outputs")]
    lines: list[str] = []
    for place in ran:
        count = _count(cells[place])
        lines.append(f"In [{count if count is not None else ' '}]:")
        for output in _outputs(cells[place]):
            lines += _printed(output, failed=place == ran[-1])
    return lines


def _outputs(cell: dict[str, Any]) -> list[dict[str, Any]]:
    told = cell.get("outputs")
    return [each for each in told if isinstance(each, dict)] if isinstance(told, list) else []


def _cells(book: Any) -> Iterator[dict[str, Any]]:
    """All cells; format 3 kept them in worksheets."""
    for sheet in book["worksheets"] if "cells" not in book else (book,):
        yield from (each for each in sheet["cells"] if isinstance(each, dict))


def _count(cell: dict[str, Any]) -> int | None:
    count = cell.get("execution_count", cell.get("prompt_number"))
    return count if isinstance(count, int) else None


def _printed(output: dict[str, Any], *, failed: bool) -> list[str]:
    """Lines of one output; of an exception that was got over none."""
    kind = output.get("output_type")
    if kind in ("error", "pyerr"):
        return _text(output.get("traceback"), "\n").splitlines() if failed else []
    data = output.get("data")
    plain = data.get("text/plain") if isinstance(data, dict) else None
    return _text(output.get("text") or plain, "").splitlines()


def _text(value: Any, between: str) -> str:
    if isinstance(value, list):
        return between.join(each for each in value if isinstance(each, str))
    return value if isinstance(value, str) else ""

"""Tells what a person writes in a document from what a program prints, where only the words of a line decide."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from doctor.base.patterns import later

#: files that are written, or that hold code with what it printed
_WRITTEN = frozenset({".md", ".mdx", ".markdown", ".rst", ".adoc", ".ipynb", ".html", ".tex"})
_HEADING = later(r"^#{1,6} [A-Z\u4e00-\u9fff]")
_HEADINGS = 2  # of which a text is a document
#: what stands around the words of a program: a level, a kind of warning, a stamp, a place in code, a process
_OF_PROGRAM = later(
    r"\b(?:WARN(?:ING)?|ERROR|INFO|DEBUG|CRITICAL|FATAL|\w{2,40}(?:Warning|Error|Exception))\b|\d\d:\d\d:\d\d"
    r"|\.\w{1,4}:\d{1,6}\b|^\s*\[[^\]\n]{1,60}\]|\bpid=\d|\brank ?\d"
)
_OF_PERSONS = later(r"(?<![\w'])(?:we|our|us|my|whom|I|I'm|I've)(?![\w.])")


def is_document(path: str, lines: Sequence[tuple[int, str]]) -> bool:
    """Whether a file is a written text or a notebook: what no program says there is the writer's.

    Args:
        path: of the file, for its name.
        lines: (number, text) of what was kept of it.

    """
    return PurePath(path).suffix.lower() in _WRITTEN or (
        sum(_HEADING.match(text) is not None for _, text in lines) >= _HEADINGS
    )


def is_said_by_program(text: str, *, in_document: bool) -> bool:
    """Whether a program may have printed a line; in a document it must look so."""
    if _OF_PROGRAM.search(text):
        return True
    return not in_document and not _OF_PERSONS.search(text)

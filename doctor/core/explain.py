"""The manual of a problem: its file's docstring, cut at its headings."""

from __future__ import annotations

import ast
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from doctor.core.index import Entry

#: headings that every problem's docstring has, in this order
HEADINGS = ("What it means", "What it does to a run", "What to do", "How it is found", "References")


@dataclass(frozen=True)
class Manual:
    """Title and heading -> text, as Markdown."""

    title: str
    sections: dict[str, str]


def parse(docstring: str) -> Manual:
    """Cut a docstring at its `## ` headings."""
    title, _, rest = docstring.strip().partition("\n")
    sections: dict[str, str] = {}
    heading = ""
    for line in rest.splitlines():
        if line.startswith("## "):
            heading = line[3:].strip()
            sections[heading] = ""
        elif heading:
            sections[heading] += line + "\n"
    return Manual(title.rstrip("."), {name: text.strip() for name, text in sections.items()})


def manual(entry: Entry) -> Manual:
    """The manual of a catalogue entry, read from its file without running it."""
    spec = importlib.util.find_spec(entry.module)
    if spec is None or spec.origin is None:
        return Manual(entry.title, {})
    tree = ast.parse(Path(spec.origin).read_bytes())
    return parse(ast.get_docstring(tree, clean=True) or entry.title)

"""The manual of a problem: of its TOML, or the docstring of a file in Python, cut at its headings."""

from __future__ import annotations

import ast
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from doctor.catalogue.index import Entry, manual_in
from doctor.catalogue.problem_toml import SECTIONS

#: headings that every problem's manual has, in this order
HEADINGS = tuple(SECTIONS.values())


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
    """The manual of a catalogue entry, read from its files without running them."""
    if entry.words is not None:
        told = manual_in(entry.module)
        return Manual(entry.title, {heading: told[key].strip() for key, heading in SECTIONS.items()})
    spec = importlib.util.find_spec(entry.module)
    if spec is None or spec.origin is None:
        return Manual(entry.title, {})
    tree = ast.parse(Path(spec.origin).read_bytes())
    return parse(ast.get_docstring(tree, clean=True) or entry.title)

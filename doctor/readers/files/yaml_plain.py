"""The nodes of a YAML file that has nothing but keys, words and indented keys below them.

Most files that launchers read are such ones (`accelerate config` writes them so), and importing a parser of all of YAML
takes a tenth of a `doctor check`. What is not understood here at a glance is left to that parser: a text, a list, an
anchor, a tab, a second document, a key that stands twice.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Union

from doctor.base.patterns import later

#: a key with one word of characters that mean nothing to YAML anywhere, with an empty collection, or with nothing
_LINE = later(
    r"(?P<indent> {0,40})(?P<key>[A-Za-z_][A-Za-z0-9_]{0,99}):"
    r"(?: +(?P<value>(?P<quote>'?)(?P<word>[A-Za-z0-9_/.+-]{1,1000})(?P=quote)|\[\]|\{\}))?(?: +(?:#[ -~]*)?)?"
)
_EMPTY = later(r" *(?:#[ -~]*)?")
#: a word that begins or ends a document, or a list, and not a text
_NO_WORDS = frozenset({"-", "---", "...", "."})


class Mark(NamedTuple):
    """Where a node stands, counted from 0."""

    line: int
    column: int


class Scalar(NamedTuple):
    """A word without a tag; `style` is its quote."""

    value: str
    start_mark: Mark
    style: str | None = None
    id: str = "scalar"
    tag: str = ""


class Sequence(NamedTuple):
    """A list with nothing in it."""

    value: list[Scalar]
    start_mark: Mark
    id: str = "sequence"
    tag: str = ""


class Mapping(NamedTuple):
    """Keys and what stands behind them."""

    value: list[tuple[Scalar, Node]]
    start_mark: Mark
    id: str = "mapping"
    tag: str = ""


Node = Union[Scalar, Sequence, Mapping]


def plain_nodes(text: str) -> Mapping | None:
    """The root of a text, as a composer of YAML gives it; None where the text has anything else in it."""
    root = Mapping([], Mark(0, 0))
    open_: list[tuple[int, Mapping]] = [(0, root)]  # indentation -> mapping, the innermost last
    heads = False  # whether the key above has no word behind it
    for number, line in enumerate(text.split("\n")):
        if _EMPTY.fullmatch(line):
            continue
        found = _LINE.fullmatch(line)
        if found is None or found["value"] in _NO_WORDS:  # without quotes
            return None
        indent = len(found["indent"])
        if heads and indent > open_[-1][0]:  # what stands below a key belongs to it
            inner = Mapping([], Mark(number, indent))
            above = open_[-1][1].value
            above[-1] = (above[-1][0], inner)
            open_.append((indent, inner))
        while indent < open_[-1][0]:
            open_.pop()
        level, mapping = open_[-1]
        if indent != level or any(each.value == found["key"] for each, _ in mapping.value):
            return None
        mapping.value.append((Scalar(found["key"], Mark(number, indent)), _behind(found, number)))
        heads = found["value"] is None
    return root if root.value else None


def _behind(found: re.Match[str], number: int) -> Node:
    """What stands behind a key."""
    if found["value"] is None:
        return Scalar("", Mark(number, found.end("key") + 1))
    mark = Mark(number, found.start("value"))
    if found["word"] is None:
        return Sequence([], mark) if found["value"] == "[]" else Mapping([], mark)
    return Scalar(found["word"], mark, found["quote"] or None)

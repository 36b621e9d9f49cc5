"""Data flow over a script's syntax tree: which values an expression is made of, and in which order calls come."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from doctor.base.patterns import later

if TYPE_CHECKING:
    from doctor.readers.script.flow.seen import Met

#: without one of these a file neither trains nor prepares rows, and is not walked over
_TRAINS = later(r"\bbackward\(|Trainer\(|\.generate\(|[\"']labels[\"']")
#: a longer file is a library's, whose objects come from elsewhere
_LONGEST = 60_000


def flow_of(tree: ast.Module, text: str, *, whole: bool) -> Iterable[Met]:
    """The first of each idiom that a file, or a piece of one, holds."""
    if len(text) > _LONGEST or not _TRAINS.search(text):
        return ()
    from doctor.readers.script.flow.judge import judged

    return judged(tree, text, whole=whole)

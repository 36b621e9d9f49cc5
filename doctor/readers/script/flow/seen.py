"""What is known of a script while its flow is judged, and what a judgement says."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from doctor.readers.script.flow.events import Event
from doctor.readers.script.flow.program import text_of
from doctor.readers.script.flow.roles import Roles
from doctor.readers.script.flow.values import At, Values


class Met(NamedTuple):
    """An idiom that flow shows: its id, the node that completes it, and texts for its words."""

    id: str
    node: ast.AST
    holes: Mapping[str, str] = {}


@dataclass(eq=False, repr=False)
class Script:
    """One script.

    `text` is that of the file; `runs` are the calls of its parts in order.
    """

    text: str
    values: Values
    roles: Roles
    runs: list[list[Event]] = field(default_factory=list)

    def same(self, one: At, other: At) -> bool:
        """Whether two expressions are the same object: by what made them, or without that by their text."""
        first, second = self.roles.origins(one), self.roles.origins(other)
        if first and second:
            return bool(first & second)
        return text_of(one.node) == text_of(other.node)

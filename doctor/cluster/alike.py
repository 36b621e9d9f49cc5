"""Reads the facts files of many nodes so that facts which are equal become one object.

A thousand nodes hold a few distinct lists of packages, one launch command, one interpreter. What is equal is parsed
once and shared, which makes reading fast, keeps memory small, and lets the judging go by identity.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doctor.base.evidence import Observed
from doctor.readers.saved import NotFacts, check_head, parsed, state_from

_FACT = '\n  "'  # how a fact begins in a file that `doctor.readers.saved.save` wrote: JSON has no line breaks in texts
_END = "\n  }"


class Alike:
    """A reader of facts files that remembers what it has read."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self._known: dict[tuple[str, str], Observed] = {}

    def read(self, text: str, path: Path) -> tuple[dict[str, Any], dict[str, Observed]]:
        """The head of a facts file (everything but `facts`) and its facts.

        Raises:
            NotFacts: it is damaged, or of another schema.

        """
        try:
            head, bodies = _split(text) or _parsed(text)
            check_head(head, path)
            return head, {name: self._state(name, body) for name, body in bodies.items()}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
            msg = f"`{path}` is a damaged facts file: {type(exc).__name__}: {exc}"
            raise NotFacts(msg) from None

    def states(self, text: str, path: Path) -> dict[str, Observed]:
        """The facts of a file alone; raises as `read`."""
        return self.read(text, path)[1]

    def _state(self, name: str, body: str) -> Observed:
        state = self._known.get((name, body))
        if state is None:
            state = self._known[name, body] = state_from(name, parsed(body))
        return state


def _split(text: str) -> tuple[dict[str, Any], Mapping[str, str]] | None:
    """Head and the JSON text of each fact, by the lines of a file that we wrote; None where it has another shape.

    Each fact is cut out and a number put in its place; what is left must parse, and hold the numbers under `facts`.
    """
    start, *parts = text.split(_FACT)
    cut, bodies = [start], []
    for part in parts:
        name, colon, body = part.partition('": ')
        end = body.rfind(_END)
        if not colon or end < 0:
            cut.append(part)
            continue
        bodies.append(body[: end + len(_END)])
        cut.append(f'{name}": {len(bodies) - 1}{body[end + len(_END) :]}')
    try:
        head = parsed(_FACT.join(cut))
        facts = head.pop("facts")
        if sorted(facts.values()) != list(range(len(bodies))):
            return None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return head, {name: bodies[number] for name, number in facts.items()}


def _parsed(text: str) -> tuple[dict[str, Any], Mapping[str, str]]:
    """The same of a file of any other shape."""
    head = parsed(text)
    facts = head.pop("facts")
    return head, {name: json.dumps(each, sort_keys=True) for name, each in facts.items()}

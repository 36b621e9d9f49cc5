"""Derives from a pattern the literals of which any match must hold one.

The search for literals is a hundred times faster than that for patterns; a pattern is tried only on lines that hold one
of its own. The derivation walks the tree of Python's own parser: it keeps the strings that the last items can spell
together (a cross product), and at every item that can be anything it offers what it has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from doctor.base.patterns import later
from doctor.catalogue.signature import Signature
from doctor.logs.match.pattern_tree import ATOMIC, REPEATS, ZERO_WIDTH, parse
from doctor.logs.match.pattern_tree import constants as _c

SHORTEST = 4  # bytes; shorter ones hit everywhere
MOST_STRINGS = 32  # spelled together; beyond that a pattern has no useful literal there
_SMALL_CLASS = 4
_MOST_REPEATS = 4
#: what every encoder of JSON leaves as it is
_NEVER_ESCAPED = later(rb"[ !#-%'-;=?-\[\]-~]*")


def literals_of(signature: Signature) -> tuple[bytes, ...]:
    """Literals of which every line that matches holds one; the keywords where the signature names them.

    Empty where nothing of use can be derived, see `lint`.

    Raises:
        re.error: the pattern is no regular expression.

    """
    if signature.keywords:
        return tuple(each.encode() for each in dict.fromkeys(signature.keywords))
    return tuple(sorted(each.encode() for each in required_strings(signature.pattern)))


def with_escapes(literals: Iterable[bytes]) -> tuple[bytes, ...]:
    """The literals, and how they stand in logs that hold each line as a JSON string (docker, Kubernetes, loggers)."""
    out: dict[bytes, None] = {}
    for literal in literals:
        out[literal] = None
        if _NEVER_ESCAPED.fullmatch(literal):
            continue
        text = literal.decode("utf-8", "replace")
        plain = json.dumps(text, ensure_ascii=False)[1:-1]
        for each in (plain, json.dumps(text)[1:-1], _for_html(plain)):
            out[each.encode("utf-8", "replace")] = None
    return tuple(out)


def _for_html(text: str) -> str:
    """Go's encoder also escapes what HTML gives a meaning to: https://pkg.go.dev/encoding/json#Marshal."""
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def required_strings(pattern: str) -> frozenset[str]:
    """The best set of strings of which any match holds one; empty when there is none of `SHORTEST` bytes."""
    tree, flags = parse(pattern)
    walk = _Walk(flags)
    walk.sequence(tree)
    walk.offer()
    return walk.best if walk.best and min(len(each.encode()) for each in walk.best) >= SHORTEST else frozenset()


class _Walk:
    """The strings that the items read last can spell (`run`), and the best set offered so far."""

    def __init__(self, flags: int) -> None:
        self.flags = flags
        self.run: frozenset[str] = frozenset({""})
        self.best: frozenset[str] = frozenset()

    def offer(self) -> None:
        """End the run and keep it when it is better: the longest shortest string counts, then the fewest strings."""
        self.propose(self.run)
        self.run = frozenset({""})

    def propose(self, strings: frozenset[str]) -> None:
        if strings and "" not in strings:
            strings = _without_longer(strings)
            self.best = max(self.best, strings, key=_value)

    def append(self, strings: frozenset[str]) -> None:
        """Go on with any of these strings."""
        if len(self.run) * len(strings) > MOST_STRINGS:
            self.offer()
        self.run = frozenset(head + tail for head in self.run for tail in strings)

    def sequence(self, items: Iterable[tuple[Any, Any]]) -> None:
        for kind, value in items:
            self._item(kind, value)

    def _item(self, kind: Any, value: Any) -> None:
        if kind in ZERO_WIDTH:
            return
        if kind is _c.SUBPATTERN:
            _, added, removed, items = value
            before, self.flags = self.flags, (self.flags | added) & ~removed
            self.sequence(items)
            self.flags = before
        elif kind is ATOMIC:
            self.sequence(value)
        elif kind is _c.BRANCH:
            self._branch(value[1])
        elif kind in REPEATS:
            self._repeat(*value)
        else:
            strings = self._spelled(kind, value)
            if strings is None:
                self.offer()
            else:
                self.append(strings)

    def _spelled(self, kind: Any, value: Any) -> frozenset[str] | None:
        """What one character can be, None for anything that is not a small set."""
        if kind is _c.LITERAL:
            codes = [value]
        elif kind is _c.IN and all(each is _c.LITERAL for each, _ in value) and len(value) <= _SMALL_CLASS:
            codes = [code for _, code in value]
        else:
            return None
        strings = frozenset(chr(code) for code in codes)
        if self.flags & re.IGNORECASE and any(each.lower() != each.upper() for each in strings):
            return None
        return strings

    def _branch(self, branches: Sequence[Any]) -> None:
        exact: set[str] = set()
        parts: list[_Walk] = []
        for each in branches:
            part = _Walk(self.flags)
            part.sequence(each)
            parts.append(part)
            exact |= part.run
        spelled = not any(part.best for part in parts) and all(_finite(each, self.flags) for each in branches)
        if spelled and len(exact) <= MOST_STRINGS:
            self.append(frozenset(exact))
            return
        self.offer()
        for part in parts:
            part.offer()
        if all(part.best for part in parts):
            self.propose(frozenset().union(*(part.best for part in parts)))

    def _repeat(self, least: int, most: Any, items: Any) -> None:
        if _finite(items, self.flags):
            part = _Walk(self.flags)
            part.sequence(items)
            if not part.best and least == most and least <= _MOST_REPEATS:
                for _ in range(least):
                    self.append(part.run)
                return
            if not part.best and (least, most) == (0, 1):
                self.append(part.run | {""})
                return
        if least == 0:
            self.offer()
            return
        self.sequence(items)  # it is there at least once, right behind what stands before it
        self.offer()


def _finite(items: Any, flags: int) -> bool:
    """Whether a part of a pattern spells a small set of strings and nothing else."""
    walk = _Walk(flags)
    return all(_finite_item(walk, kind, value) for kind, value in items)


def _finite_item(walk: _Walk, kind: Any, value: Any) -> bool:
    if kind in ZERO_WIDTH:
        return True
    if kind is _c.SUBPATTERN:
        return _finite(value[3], (walk.flags | value[1]) & ~value[2])
    if kind is ATOMIC:
        return _finite(value, walk.flags)
    if kind is _c.BRANCH:
        return all(_finite(each, walk.flags) for each in value[1])
    if kind in REPEATS:
        least, most, items = value
        return (least == most <= _MOST_REPEATS or (least, most) == (0, 1)) and _finite(items, walk.flags)
    return walk._spelled(kind, value) is not None  # noqa: SLF001 - the same module


def _without_longer(strings: frozenset[str]) -> frozenset[str]:
    """Leave out strings that hold another one of the set: that one tells as much."""
    return frozenset(each for each in strings if not any(other != each and other in each for other in strings))


def _value(strings: frozenset[str]) -> tuple[int, int]:
    return (min(len(each.encode()) for each in strings), -len(strings)) if strings else (0, 0)

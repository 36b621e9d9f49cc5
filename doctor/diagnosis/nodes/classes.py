"""Nodes that a problem's checks cannot tell apart: their facts are the same objects, as far as they are looked at.

A check whose needed fact no node has is skipped for that fact's reason whatever its other facts say, so that nodes
which differ in those alone are one class to it. That is most checks: without a launch command, or without GPUs. One
that says nothing at all without some fact, as triggers do without a launch command, has one class where no node has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from doctor.base.evidence import Observed
from doctor.catalogue.index import CheckEntry, Entry

#: what a problem looks at, and what of it: "value" of a fact, "failure" of a fact, whether a problem was "found"
_Look = tuple[str, str]


class _Column:
    """One fact over all nodes."""

    def __init__(self, states: Sequence[Observed | None]) -> None:
        self._states = states
        self.blind = not any(each is not None and each.status == "ok" for each in states)

    @cached_property
    def values(self) -> list[int]:
        """Identity of each node's state."""
        return [id(each) for each in self._states]

    @cached_property
    def failures(self) -> list[int]:
        """The same, with one number for all nodes that have the fact."""
        return [0 if each is not None and each.status == "ok" else id(each) for each in self._states]


class Classes:
    """Puts nodes into classes, problem by problem; `states` are the facts of each node, and must stay alive."""

    def __init__(self, states: Sequence[Mapping[str, Observed]]) -> None:
        """Nothing is compared before it is asked for."""
        self._states = states
        self._columns: dict[str, _Column] = {}
        self._known: dict[frozenset[_Look], list[list[int]]] = {}

    def of(self, entry: Entry, found: Mapping[str, set[int]]) -> list[list[int]]:
        """Numbers of the nodes in each class; `found` holds the nodes on which earlier problems were found."""
        looks = {look for each in entry.checks for look in self._looks(each)}
        looks |= {(need, "found") for each in entry.checks for need in each.requires if found.get(need)}
        if entry.affects:
            looks.add(("packages", "value"))
        key = frozenset(looks)
        if key not in self._known:
            self._known[key] = self._together([self._keys(look, found) for look in key])
        return self._known[key]

    def _looks(self, check: CheckEntry) -> Iterator[_Look]:
        """What decides on a check's answer: facts are asked for in order, and the first that is missing ends it."""
        if check.mute_without and self._column(check.mute_without).blind:
            return
        facts = list(check.facts.values())
        end = next((at for at, (fact, needed) in enumerate(facts) if needed and self._column(fact).blind), None)
        for fact, needed in facts if end is None else facts[: end + 1]:
            if end is None:
                yield fact, "value"
            elif needed:
                yield fact, "failure"

    def _column(self, fact: str) -> _Column:
        if fact not in self._columns:
            self._columns[fact] = _Column([its.get(fact) for its in self._states])
        return self._columns[fact]

    def _keys(self, look: _Look, found: Mapping[str, set[int]]) -> Sequence[int]:
        """One number for each node; nodes with different numbers may be judged differently."""
        name, what = look
        if what == "found":
            return [number in found[name] for number in range(len(self._states))]
        column = self._column(name)
        return column.values if what == "value" else column.failures

    def _together(self, columns: list[Sequence[int]]) -> list[list[int]]:
        """Numbers of the nodes that agree in every column."""
        classes: dict[tuple[int, ...], list[int]] = {}
        count = len(self._states)
        for number, key in enumerate(zip(*columns, strict=True) if columns else [()] * count):
            classes.setdefault(key, []).append(number)
        return list(classes.values())

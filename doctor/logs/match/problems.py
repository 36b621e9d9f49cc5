"""The signatures of the catalogue, and what each problem says of their hits."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from doctor.base.ranges import within
from doctor.base.ranks import ranks_text
from doctor.base.record import record
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.index import Entry, catalogue_roots, load
from doctor.catalogue.problem import ERROR, Problem
from doctor.catalogue.problem_files import declared, function_of
from doctor.catalogue.signature import Hits, Signature
from doctor.catalogue.words import LOG, MAIN
from doctor.logs.match.literals import SHORTEST
from doctor.logs.match.matcher import Compiled
from doctor.logs.match.signatures import compiled, load_signatures

#: values that the message `log` may use beside what was captured
STANDARD_VALUES = ("file", "line", "rank", "process", "count", "ranks", "world_size", "version")


@record
class Catalogue:
    """All signatures in a stable order, and the problems they belong to."""

    entries: Mapping[str, Entry]
    signatures: tuple[Compiled, ...]

    def of(self, problem_id: str) -> Sequence[Compiled]:
        """Signatures of one problem."""
        return self._by_problem.get(problem_id, ())

    @cached_property
    def _by_problem(self) -> Mapping[str, Sequence[Compiled]]:
        by_problem: dict[str, list[Compiled]] = {}
        for each in self.signatures:
            by_problem.setdefault(each.problem_id, []).append(each)
        return by_problem

    def errors_behind(self, heads: Sequence[bytes], text: bytes) -> list[tuple[int, str]]:
        """Position and pattern of each signature of an error that asks for no frame and has a literal in a line.

        Args:
            heads: what may stand before the text, each in a line of its own.
            text: the rest of these lines.

        """
        length, literals = self._errors
        lines = b"\n".join(head + text for head in heads)
        parts = b"\n".join((text, *(head + text[: length - 1] for head in heads)))
        met = {parts[at : at + length] for at in range(len(parts))} & literals.keys()
        found = {position for each in met for literal, position in literals[each] if literal in lines}
        return [(position, self.signatures[position].signature.pattern) for position in sorted(found)]

    @cached_property
    def _errors(self) -> tuple[int, Mapping[bytes, Sequence[tuple[bytes, int]]]]:
        """How the literals of such signatures end, in so many bytes -> them with their signature's position.

        They are more than a thousand. Most begin with the type that is sought; few end as anything in a line does.
        """
        asked = [
            (literal, position)
            for position, each in enumerate(self.signatures)
            if each.signature.kind == "error" and not each.signature.frame
            for literal in each.literals
        ]
        length = min((len(literal) for literal, _ in asked), default=SHORTEST)
        by_end: dict[bytes, list[tuple[bytes, int]]] = {}
        for literal, position in asked:
            by_end.setdefault(literal[-length:], []).append((literal, position))
        return length, by_end

    @cached_property
    def unknown(self) -> frozenset[str]:
        """Ids of the problems that say only that nothing is known."""
        return frozenset(each.id for each in self.entries.values() if each.area == "unknown")

    @property
    def problems(self) -> int:
        """How many problems have signatures."""
        return len(self._by_problem)


def read(entries: Iterable[Entry] | None = None) -> Catalogue:
    """The signatures of the whole catalogue, or of some of its problems."""
    if entries is None:
        roots = catalogue_roots()
        return Catalogue({each.id: each for each in load(roots)}, load_signatures(roots))
    kept = list(entries)
    return Catalogue({each.id: each for each in kept}, compiled(kept))


def is_victims_word(each: Compiled) -> bool:
    """Whether it is the word of a process that another one took down."""
    return "*" in each.signature.symptom_of


def in_range(affects: Mapping[str, str], versions: Mapping[str, str]) -> bool:
    """Whether the versions that are known allow it; what is not known allows everything."""
    if not affects.keys() & versions.keys():
        return True
    for name, specifier in affects.items():
        try:
            if not within(versions[name], specifier):
                return False
        except (KeyError, ValueError):
            continue
    return True


def finding_of(entry: Entry, hits: Hits, main: Signature) -> Finding | None:
    """The finding that a problem makes of its hits; None when it says that they are none of its own."""
    explain = function_of(entry, "explain")
    if explain is not None:
        finding = explain(hits)
        assert finding is None or isinstance(finding, Finding)  # noqa: S101 - a contract of the catalogue
        return finding
    words = declared(entry)
    if words.cases:
        return words.finding(hits)
    problem, values = words.problem, _values(words.problem, hits)
    return found(
        problem, words.messages.get(LOG) or words[MAIN], where=hits.where(), evidence=hits.evidence(),
        links=words.links, commands=tuple(string.Formatter().vformat(each, (), values) for each in words.commands),
        confidence=words.confidence, severity=ERROR if main.kind == "error" else problem.severity, **values,
    )  # fmt: skip


def _values(problem: Problem, hits: Hits) -> dict[str, Any]:
    first = hits.first
    versions = [hits.versions[name] for name in problem.affects if name in hits.versions]
    values: dict[str, Any] = {
        "file": first.file, "line": first.line, "rank": first.rank, "process": first.process or None,
        "count": hits.count, "ranks": ranks_text(hits.ranks) or None,
        "world_size": hits.world_size, "version": versions[0] if versions else None,
    }  # fmt: skip
    values.update({name: value for hit in hits for name, value in hit.groups.items() if name not in values})
    values.update(first.groups)
    return {name: "?" if value is None else value for name, value in values.items()}


def named_groups(signature: Signature) -> list[str]:
    """What a pattern captures by name."""
    return list(re.compile(signature.pattern).groupindex)

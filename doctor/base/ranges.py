"""Whether a version is in a range of PEP 440.

Nearly every question is about releases of numbers alone, `2.9.1+cu128` in `>=2.6,<3`: they are answered here.
`packaging` answers all others, and is imported only for them: its import takes longer than a thousand answers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Optional

Numbers = tuple[int, ...]
Clause = tuple[Callable[[Any, Any], bool], Numbers]


def _begins(release: Numbers, wanted: Numbers) -> bool:
    return (release + (0,) * len(wanted))[: len(wanted)] == wanted


def _begins_not(release: Numbers, wanted: Numbers) -> bool:
    return not _begins(release, wanted)


#: longest first where one begins with another; `===` is left to `packaging`
_RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt,
}  # fmt: skip
_OF_BEGINNINGS = {"==": _begins, "!=": _begins_not}


@lru_cache(1000)
def within(version: str, specifier: str) -> bool:
    """Whether the public version is in the range; a pre-release counts where its place in the order is in it.

    Raises:
        ValueError: one of the two cannot be read.

    """
    answer = within_numbers(version, specifier)
    if answer is None:
        from packaging.specifiers import SpecifierSet
        from packaging.version import Version

        return SpecifierSet(specifier).contains(Version(Version(version).public), prereleases=True)
    return answer


def within_numbers(version: str, specifier: str) -> Optional[bool]:
    """The same of a release and a range of numbers alone; None for any other, which `packaging` has to read."""
    release, clauses = numbers(version), _clauses(specifier)
    if release is None or clauses is None:
        return None
    return all(relation(release, bound) for relation, bound in clauses)


def order(one: str, other: str) -> int:
    """Below 0 where the first public version is the older one, above it where it is the newer one, 0 for the same.

    Raises:
        ValueError: one of them is no version.

    """
    first: Any = numbers(one)
    second: Any = numbers(other)
    if first is None or second is None:
        from packaging.version import Version

        first, second = (Version(Version(each).public) for each in (one, other))
    return int(first > second) - int(first < second)


def comparable(version: str, others: Sequence[str]) -> tuple[Any, list[Any]]:
    """A version without its local part, and others, as what can be compared with each other.

    Raises:
        ValueError: one of them is no version.

    """
    asked, listed = numbers(version), [numbers(each) for each in others]
    if asked is not None and None not in listed:
        return asked, listed
    from packaging.version import Version

    return Version(Version(version).public), [Version(each) for each in others]


def numbers(version: str) -> Optional[Numbers]:
    """The numbers of a release without zeros at the end, for 2.9 is 2.9.0; None for anything else than a release.

    A local part, as in `2.9.1+cu128`, does not count.
    """
    public, plus, local = version.strip().partition("+")
    if plus and not (local.isascii() and local.replace(".", "").isalnum() and all(local.split("."))):
        return None
    found = _written(public)
    return None if found is None else _without_zeros(found)


def _written(public: str) -> Optional[Numbers]:
    parts = public.split(".")
    return tuple(map(int, parts)) if public.isascii() and all(each.isdigit() for each in parts) else None


def _without_zeros(found: Numbers) -> Numbers:
    while len(found) > 1 and not found[-1]:
        found = found[:-1]
    return found


@lru_cache(1000)
def _clauses(specifier: str) -> Optional[tuple[Clause, ...]]:
    """The clauses of a range; None where one is about anything else than a release of numbers alone."""
    found: list[Clause] = []
    for text in filter(None, map(str.strip, specifier.split(","))):
        clauses = _clause(text[:2], text[2:].strip()) or _clause(text[:1], text[1:].strip())
        if not clauses:
            return None
        found += clauses
    return tuple(found)


def _clause(relation: str, bound: str) -> tuple[Clause, ...]:
    """What one clause asks; nothing where it is not understood here."""
    written = _written(bound.removesuffix(".*"))
    if written is None:
        return ()
    if bound.endswith(".*"):
        return ((_OF_BEGINNINGS[relation], written),) if relation in _OF_BEGINNINGS else ()
    if relation == "~=":
        return ((operator.ge, _without_zeros(written)), (_begins, written[:-1])) if len(written) > 1 else ()
    return ((_RELATIONS[relation], _without_zeros(written)),) if relation in _RELATIONS else ()

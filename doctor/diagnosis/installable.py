"""What `pip install RANGE` can bring: releases that the interpreter can have, and ranges without a common one."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from doctor import data
from doctor.base.patterns import later
from doctor.base.ranges import numbers, within
from doctor.base.record import replace
from doctor.catalogue.finding import Finding

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

#: a release before all others, and one after them
_ENDS = ("0", "99999")
_INSTALL = later(r"\bpip3? install\b(?P<words>[^\n;&|]{1,400})")
_WANTED = later(r"""["']?(?P<name>[A-Za-z][\w.\-]{0,60})(?:\[[\w,]{1,60}\])?(?P<range>[<>=!~][^\s"']{1,80})["']?""")


def attainable(finding: Finding, python: str) -> Finding:
    """The finding without commands that pip would refuse for a Python ("3.8.10")."""
    possible = tuple(each for each in finding.commands if _possible(each, python))
    return finding if possible == finding.commands else replace(finding, commands=possible)


def _possible(command: str, python: str) -> bool:
    install = _INSTALL.search(command)
    wanted = _WANTED.finditer(install["words"]) if install is not None else ()
    return not any(can_be_had(each["name"], each["range"], python) is False for each in wanted)


def releases_in(package: str, wanted: str) -> tuple[str, ...] | None:
    """Known releases of a package in a PEP 440 range, oldest first; None where the data do not know the package."""
    known = _versions(package)
    try:
        return None if known is None else tuple(each for each in known if within(each, wanted))
    except ValueError:
        return None


def can_be_had(package: str, wanted: str, python: str) -> bool | None:
    """Whether some release of a range supports a Python ("3.8"), by Requires-Python; None where that is not known.

    A range that reaches beyond the newest known release can hold one that supports a newer Python, never an older one.
    """
    inside = releases_in(package, wanted)
    if not inside:
        return None
    verdicts = [_supports(package, each, python) for each in inside]
    if any(verdicts):
        return True
    if None in verdicts or (_reaches_beyond(wanted) and not too_old(package, wanted, python)):
        return None
    return False


def too_old(package: str, wanted: str, python: str) -> bool:
    """Whether the newest known release of a range wants a newer Python, as all that come after it will."""
    inside = releases_in(package, wanted)
    wants = _requires_python(package, inside[-1]) if inside else None
    lower = [_version(each.version.removesuffix(".*")) for each in wants or () if each.operator in {">=", ">", "~="}]
    found = _version(python)
    return any(each is not None and found is not None and found < each for each in lower)


def newest_for(package: str, wanted: str, python: str | None) -> str | None:
    """The newest known final release of a range that supports a Python; None where none is known."""
    for each in reversed(releases_in(package, wanted) or ()):
        if _is_final(each) and (python is None or _supports(package, each, python) is not False):
            return each
    return None


def _is_final(release: str) -> bool:
    found = None if numbers(release) is not None else _version(release)
    return found is None or not found.is_prerelease


def is_last_for(package: str, version: str, python: str) -> bool:
    """Whether no later release of a package supports a Python: later ones are known, and all of them want a newer."""
    found = _version(version)
    known = [each for text in _versions(package) or () if (each := _version(text)) is not None]
    return (
        found is not None
        and any(each > found for each in known)
        and can_be_had(package, f">{version}", python) is False
    )


def exclude_each_other(package: str, one: str, other: str) -> bool:
    """Whether no release can be in both ranges."""
    allowed, wanted = _specifier(one), _specifier(other)
    if allowed is None or wanted is None:
        return False
    both = _specifier(",".join(filter(None, (one, other))))
    named = (*(_versions(package) or ()), *(each.version for each in (*allowed, *wanted)))
    candidates = [version for each in named if (version := _version(each)) is not None]
    # beyond each bound, and below all of them: what is not in the data is told by the ends of the ranges
    candidates += [beyond for each in tuple(candidates) if (beyond := _version(f"{each.base_version}.1")) is not None]
    candidates += [each for each in map(_version, _ENDS) if each is not None]
    return both is not None and not any(both.contains(each, prereleases=True) for each in candidates)


def contains(wanted: str, version: str) -> bool | None:
    """Whether a version, local parts left out, is in a range; None where one of them cannot be read."""
    allowed, found = _specifier(wanted), _version(version)
    if allowed is None or found is None:
        return None
    return allowed.contains(found if "+" in wanted else found.public, prereleases=True)


def _reaches_beyond(wanted: str) -> bool:
    try:
        return within(_ENDS[-1], wanted)
    except ValueError:
        return False


def _supports(package: str, release: str, python: str) -> bool | None:
    known = data.release(package, release)
    try:
        return within(python, known.requires_python) if known is not None and known.requires_python else None
    except ValueError:
        return None


def _requires_python(package: str, release: str) -> SpecifierSet | None:
    known = data.release(package, release)
    return _specifier(known.requires_python) if known is not None and known.requires_python else None


@cache
def _versions(package: str) -> tuple[str, ...] | None:
    """Its known releases, yanked ones left out, oldest first: the data have them in this order."""
    return tuple(text for text, each in data.releases(package).items() if not each.yanked) or None


@cache
def _specifier(text: str) -> SpecifierSet | None:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        return None


def _version(text: str) -> Version | None:
    from packaging.version import Version

    try:
        return Version(text)
    except ValueError:
        return None

"""What `pip install RANGE` can bring: releases that the interpreter can have, and ranges without a common one."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from doctor import data
from doctor.base.patterns import later
from doctor.catalogue.finding import Finding

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
    allowed = _specifier(wanted)
    if known is None or allowed is None:
        return None
    return tuple(text for text, version in known if allowed.contains(version, prereleases=True))


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
    return any(each is not None and Version(python) < each for each in lower)


def newest_for(package: str, wanted: str, python: str | None) -> str | None:
    """The newest known final release of a range that supports a Python; None where none is known."""
    for each in reversed(releases_in(package, wanted) or ()):
        if not Version(each).is_prerelease and (python is None or _supports(package, each, python) is not False):
            return each
    return None


def is_last_for(package: str, version: str, python: str) -> bool:
    """Whether no later release of a package supports a Python: later ones are known, and all of them want a newer."""
    found = _version(version)
    later = [text for text, each in _versions(package) or () if found is not None and each > Version(found.public)]
    return bool(later) and can_be_had(package, f">{version}", python) is False


def exclude_each_other(package: str, one: str, other: str) -> bool:
    """Whether no release can be in both ranges."""
    allowed, wanted = _specifier(one), _specifier(other)
    if allowed is None or wanted is None:
        return False
    both = _specifier(",".join(filter(None, (one, other))))
    candidates = [version for _, version in _versions(package) or ()]
    candidates += [version for each in (*allowed, *wanted) if (version := _version(each.version)) is not None]
    # beyond each bound, and below all of them: what is not in the data is told by the ends of the ranges
    candidates += [beyond for each in tuple(candidates) if (beyond := _version(f"{each.base_version}.1")) is not None]
    candidates += [Version("0"), Version("99999")]
    return both is not None and not any(both.contains(each, prereleases=True) for each in candidates)


def contains(wanted: str, version: str) -> bool | None:
    """Whether a version, local parts left out, is in a range; None where one of them cannot be read."""
    allowed, found = _specifier(wanted), _version(version)
    if allowed is None or found is None:
        return None
    return allowed.contains(found if "+" in wanted else Version(found.public), prereleases=True)


def _reaches_beyond(wanted: str) -> bool:
    allowed = _specifier(wanted)
    return allowed is not None and allowed.contains(Version("99999"), prereleases=True)


def _supports(package: str, release: str, python: str) -> bool | None:
    wants = _requires_python(package, release)
    return None if wants is None else wants.contains(Version(python), prereleases=True)


def _requires_python(package: str, release: str) -> SpecifierSet | None:
    known = data.release(package, release)
    return _specifier(known.requires_python) if known is not None and known.requires_python else None


@cache
def _versions(package: str) -> tuple[tuple[str, Version], ...] | None:
    listed = (text for text, each in data.releases(package).items() if not each.yanked)
    pairs = [(text, version) for text in listed if (version := _version(text)) is not None]
    return tuple(sorted(pairs, key=lambda each: each[1])) or None


@cache
def _specifier(text: str) -> SpecifierSet | None:
    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        return None


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except ValueError:
        return None

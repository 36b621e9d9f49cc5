"""In which releases of a library a module, a name, an attribute or a parameter is there: only what changed is known.

Made by ``tools/make_api_history.py`` from the sources of the releases; the files are ``names/<package>.json.gz``
(modules and names) and ``members/<package>.json.gz`` (attributes and parameters). None means "the data do not tell",
which is so for all that never changed.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from doctor.base.ranges import comparable
from doctor.base.record import record

SCHEMA = "doctor-api/1"
_HERE = Path(__file__).parent


@record
class Known:
    """What the data tell of one name.

    Args:
        library: the distribution; `package` its import name.
        versions: releases that were read, oldest first.
        spans: positions in `versions` (first, last) of the releases that have it.
        moved_to: module that had the name in the release after the last, see `moved_in`; of a module, the one that took
            its place. `renamed_to`: name that the last release tells to use instead.
        owner: what the history is of: "module", "module:name"; of a member the class or function that it belongs to.
        member: it is an attribute or a parameter, whose class or function may be absent where it counts as there.
        exact: all releases were read, not only the last patch of each minor.

    """

    library: str
    package: str
    versions: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    moved_to: str | None = None
    renamed_to: str | None = None
    owner: str = ""
    exact: bool = True
    member: bool = False

    @property
    def dotted(self) -> str:
        """What the history is of, as an import writes it."""
        return self.owner.replace(":", ".")

    def there(self, position: int) -> bool:
        """Whether the release at a position has it."""
        return any(first <= position <= last for first, last in self.spans)

    def last_before(self, position: int) -> int | None:
        """Position of the last release before one that has it."""
        return max((min(last, position - 1) for first, last in self.spans if first < position), default=None)

    def first_after(self, position: int) -> int | None:
        """Position of the first release after one that has it."""
        return min((max(first, position + 1) for first, last in self.spans if last > position), default=None)

    def position(self, version: str) -> int | None:
        """Place of an installed release among those read: the newest that is not newer; -1 before the first.

        Where only the last patch of a minor was read, it stands for all of that minor. None: no version.
        """
        near = self.neighbours(version)
        if near is None or len(near) == 1:
            return near[0] if near else None
        before, after = near
        minors = [each.split(".")[:2] for each in (version, *self.versions[after : after + 1])]
        return after if not self.exact and len(minors) == 2 and minors[0] == minors[1] else before

    def neighbours(self, version: str) -> tuple[int, ...] | None:
        """Place of an installed release; of one that was not read, the places before and after it (-1: none is before).

        A release newer than all counts as the newest. None: no version.
        """
        try:
            asked, listed = comparable(version, self.versions)
        except ValueError:
            return None
        before = bisect_right(listed, asked) - 1
        known = before == len(listed) - 1 or (before >= 0 and listed[before] == asked)
        return (before,) if known else (before, before + 1)


@cache
def packages() -> tuple[str, ...]:
    """Import names of the libraries that the data know."""
    return tuple(sorted(each.name.removesuffix(".json.gz") for each in (_HERE / "names").glob("*.json.gz")))


@cache
def _load(name: str, table: str = "names") -> Mapping[str, Any]:
    path = _HERE / table / f"{name}.json.gz"
    if not path.exists():
        return {}
    import gzip

    content: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    if content.get("schema") != SCHEMA:
        raise ValueError(f"{path.name} has schema {content.get('schema')!r}, expected {SCHEMA!r}")
    return content


def distribution(package: str) -> str:
    """Name under which pip knows a package of the data."""
    return str(_load(package).get("distribution", package))


def name(module: str, wanted: str) -> Known | None:
    """History of what an import of a name from a module needs: of the name, else of the module.

    `owner` tells which of the two it is. None when the data know no change of either.
    """
    own = own_name(module, wanted)
    if own is not None:
        return own
    told = _module_told(module)
    if told is None:
        return None
    package, key = module.partition(".")[0], f"{module}:{wanted}"
    return _known(package, told[0], key if _moved(_load(package), key) else told[1])


def own_name(module: str, wanted: str) -> Known | None:
    """History of a name in a module that is there; a submodule is a name too. None when the data know no change."""
    package = module.partition(".")[0]
    span = _span_of(_load(package).get("names", {}), module, wanted)
    if span is None:
        return module_history(f"{module}.{wanted}") if _lists(package, f"{module}.{wanted}") else None
    return _known(package, span, f"{module}:{wanted}")


def _lists(package: str, module: str) -> bool:
    groups: Mapping[str, str] = _load(package).get("modules", {})
    return any(module in listed and module in listed.split(" ") for listed in groups.values())


def module_history(module: str) -> Known | None:
    """History of a module; None where it never changed, and where no release that was read has such a module.

    Of a package whose table does not list all modules ("whole"), the history is that of the package that came or went
    above the module, and `owner` names that one.
    """
    told = _module_told(module)
    return _known(module.partition(".")[0], *told) if told is not None else None


def _module_told(module: str) -> tuple[str, str] | None:
    """Span and name of the listed module that an import of `module` needs."""
    content = _load(module.partition(".")[0])
    groups: Mapping[str, str] = content.get("modules", {})
    asked = module
    while "." in asked:
        span = next((span for span, listed in groups.items() if asked in listed and asked in listed.split(" ")), None)
        if span is not None:
            return span, asked
        if content.get("whole"):
            return None
        asked = asked.rpartition(".")[0]
    return None


@cache
def has_module(module: str) -> bool:
    """Whether some release has this module, as far as it, or a name in it, came or went."""
    content = _load(module.partition(".")[0])
    if module in content.get("names", {}) or module in content.get("moved_modules", {}):
        return True
    return any(module in listed and module in listed.split(" ") for listed in content.get("modules", {}).values())


@record
class Invented:
    """A module that no release of a library that was read ever had.

    `above`: the nearest package above it that some releases had; `places`: modules of the same last name that exist.
    """

    library: str
    package: str
    module: str
    above: str
    places: tuple[str, ...] = ()


def invented(module: str) -> Invented | None:
    """Tell of a module that there never was; None where the data cannot prove that.

    A table that lists all modules that came or went ("whole") lists a package that did with all that was in it, so that
    what it does not list below such a package was never there; but for packages whose inner modules it leaves out
    ("partial").
    """
    package = module.partition(".")[0]
    content = _load(package)
    listed = {each for group in content.get("modules", {}).values() for each in group.split(" ")}
    partial = content.get("partial")
    if not content.get("whole") or partial is None or has_module(module):
        return None
    above = module.rpartition(".")[0]
    while "." in above and above not in listed:
        above = above.rpartition(".")[0]
    hidden = any(f"{module}.".startswith(f"{each}.") for each in partial)
    if hidden or above not in listed or any(each.startswith(f"{module}.") for each in listed):
        return None
    known = listed | content.get("names", {}).keys() | content.get("moved", {}).keys()
    last = module.rpartition(".")[2]
    places = sorted(each for each in known if each.rpartition(".")[2] == last)
    return Invented(str(content["distribution"]), package, module, above, tuple(places))


def attribute(class_name: str, wanted: str, package: str | None = None) -> list[Known]:
    """Histories of an attribute of a class of this name, or of one of its bases, in any library."""
    found = []
    for each in [package] if package else packages():
        content = _load(each, "members")
        names = {class_name, *_bases(content, class_name)}
        found += [
            _known(each, span, owner, member=True)
            for span, owner in _members(content.get("attributes", {}), wanted)
            if owner.partition(":")[2] in names
        ]
    return found


def parameter(function: str, wanted: str, *, required: bool = False) -> list[Known]:
    """Histories of a parameter of a function or `Class.method`; `required`: of the releases that want it given."""
    table = "required" if required else "parameters"
    return [
        _known(each, span, owner, member=True)
        for each in packages()
        for span, owner in _members(_load(each, "members").get(table, {}), wanted)
        if owner.partition(":")[2] == function
    ]


def has_class(package: str, class_name: str) -> bool:
    """Whether a package has a class of this name among those whose members changed between its releases."""
    content = _load(package, "members")
    tables = (content.get("attributes", {}), content.get("parameters", {}))
    return any(owner.partition(":")[2].partition(".")[0] == class_name for table in tables for owner in table)


def parameters_of(function: str, version: str, package: str) -> frozenset[str]:
    """Parameters of a function or `Class.method` in a release of a package; none where that is not known."""
    groups = _load(package, "members").get("parameters", {})
    owner = next((each for each in groups if each.partition(":")[2] == function), "")
    position = _known(package, "0-", owner).position(version) if owner else None
    if position is None:
        return frozenset()
    position += _came(owner)
    newest = len(_load(package)["versions"]) - 1
    parts = (each.split(" ") for each in groups[owner].split(";"))
    return frozenset(
        name
        for span, *names in parts
        if any(first <= position <= last for first, last in _spans(span, newest))
        for name in names
    )


def asks(asker: str, module: str, wanted: str = "") -> Known | None:
    """Releases of a package that import a name of another one, uncaught and whatever its version."""
    span = _span_of(_load(asker).get("asks", {}), module, wanted or ".")
    return _known(asker, span, "") if span is not None else None


def moved_in(known: Known, version: str | None) -> str | None:
    """Module that has a moved name in an installed release (the newest, if it is not known); None when none has."""
    position = known.position(version) if version else None
    position = len(known.versions) - 1 if position is None else position
    place = known.moved_to
    if place is None:
        return None
    wanted = known.owner.partition(":")[2]
    histories = (module_history(place), name(place, wanted) if wanted else None)
    return place if all(each is None or each.there(position) for each in histories) else None


def _known(package: str, span: str, key: str, *, member: bool = False) -> Known:
    content = _load(package)
    versions = tuple(content["versions"])
    spans = list(_spans(span, len(versions) - 1))
    came = _came(key) if member else 0
    return Known(
        content["distribution"],
        package,
        versions[came:],
        tuple((max(first, came) - came, last - came) for first, last in spans if last >= came),
        moved_to=_moved(content, key),
        renamed_to=content["renamed"].get(key),
        owner=key,
        exact=content["every"] == "release",
        member=member,
    )


def _came(key: str) -> int:
    """Position of the first release that has the class or function of a member: before it nothing lacks the member."""
    module, _, owner = key.partition(":")
    history = name(module, owner.partition(".")[0])
    return history.spans[0][0] if history is not None and history.spans else 0


def _moved(content: Mapping[str, Any], key: str) -> str | None:
    """Where it went; None for a place that nobody is told to import from: a private one, or one that only raises."""
    if ":" not in key:
        place: str | None = content["moved_modules"].get(key)
    else:
        listed: Mapping[str, str] = content["moved"]
        place = next((each for each, keys in listed.items() if key in keys and key in keys.split(" ")), None)
    told = place is not None and ("._" not in place or "._" in key) and ".dummy_" not in place
    return place if told else None


def _spans(text: str, newest: int) -> Iterator[tuple[int, int]]:
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield int(first), int(last) if last else newest


def _span_of(groups: Mapping[str, str], place: str, wanted: str) -> str | None:
    """The span under which a place lists a name, see the tool's `tables.py` for the form."""
    for each in groups.get(place, "").split(";"):
        span, *names = each.split(" ")
        if wanted in names:
            return span
    return None


def _members(groups: Mapping[str, str], wanted: str) -> Iterator[tuple[str, str]]:
    for owner, listed in groups.items():
        span = _span_of(groups, owner, wanted) if wanted in listed else None
        if span is not None:
            yield span, owner


def _bases(content: Mapping[str, Any], class_name: str) -> set[str]:
    for bases, names in content.get("bases", {}).items():
        if class_name in names and class_name in names.split(" "):
            return set(bases.split(" "))
    return set()

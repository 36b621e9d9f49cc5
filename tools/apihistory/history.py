"""Many releases of a library laid over each other: in which of them a name, an attribute, a parameter is there.

Every set of releases is an integer whose bit `i` stands for the i-th release.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from packaging.version import Version

from apihistory.release import Release

Key = tuple[str, str]  # module, name
Member = tuple[str, str, str]  # module, class or function, attribute or parameter
Masks = defaultdict[Key, int]
MemberMasks = defaultdict[Member, int]


def _keys() -> Masks:
    return defaultdict(int)


def _members() -> MemberMasks:
    return defaultdict(int)


@dataclass(eq=False)
class History:
    """What was seen in the releases that were added, in their order.

    `borrowed` are names that a module imports from other packages, which can be imported from it as well.
    `open_functions` take any keyword; `dynamic` modules may offer more than was seen; `required` parameters have no
    default; `asks` are the imports from other libraries.
    """

    versions: list[str] = field(default_factory=list)
    modules: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    dynamic: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    names: Masks = field(default_factory=_keys)
    borrowed: Masks = field(default_factory=_keys)
    definitions: Masks = field(default_factory=_keys)
    classes: Masks = field(default_factory=_keys)
    attributes: MemberMasks = field(default_factory=_members)
    functions: Masks = field(default_factory=_keys)
    open_functions: Masks = field(default_factory=_keys)
    parameters: MemberMasks = field(default_factory=_members)
    required: MemberMasks = field(default_factory=_members)
    asks: Masks = field(default_factory=_keys)
    renamed: dict[Key, str] = field(default_factory=dict)
    roots: dict[str, frozenset[str]] = field(default_factory=dict)

    @property
    def everywhere(self) -> int:
        """All releases."""
        return (1 << len(self.versions)) - 1

    def add(self, version: str, release: Release) -> None:
        """Lay the next release over those before it."""
        bit = 1 << len(self.versions)
        self.versions.append(version)
        for module, surface in release.modules.items():
            self.modules[module] |= bit
            if release.is_dynamic(module):
                self.dynamic[module] |= bit
            for name in release.names(module):
                self.names[module, name] |= bit
            if surface is None:
                continue
            for name in release.borrowed(module):
                self.borrowed[module, name] |= bit
            for name in surface.defined:
                self.definitions[module, name] |= bit
            for ask in surface.asks:
                self.asks[ask] |= bit
            self._renames(module, surface.aliases | surface.instead, release)
            for own, _ in surface.origins.values():
                if own not in release.modules:  # compiled: it has no source that could be read
                    package, _, name = own.rpartition(".")
                    self.modules[own] |= bit
                    self.dynamic[own] |= bit
                    self.names[package, name] |= bit
        self._add_functions(release, bit)
        self._add_classes(release, bit)

    def came_with_none(self) -> None:
        """Take what is offered to be there in all earlier releases too, where compiled code may have made it."""
        for key, bits in self.names.items():
            if bits:
                self.names[key] = bits | ((bits & -bits) - 1)

    def amend(self, changes: Mapping[Key, tuple[str, str | None]]) -> None:
        """Put in names that only running code makes: there in all releases but those from `gone` up to `back`."""
        for key, (gone, back) in changes.items():
            self.names[key] = sum(
                1 << position
                for position, each in enumerate(map(Version, self.versions))
                if each < Version(gone) or (back is not None and each >= Version(back))
            )

    def _renames(self, module: str, found: dict[str, str], release: Release) -> None:
        surface = release.modules[module]
        for old, new in found.items():
            name = new.rpartition(".")[2]
            known = surface is not None and (name in surface.classes or name in surface.functions)
            if old[:1] != "_" and old != name and (known or name in release.names(module)):
                self.renamed[module, old] = name

    def _add_functions(self, release: Release, bit: int) -> None:
        for module, name, function in release.functions():
            self.functions[module, name] |= bit
            if function.open:
                self.open_functions[module, name] |= bit
            for parameter in function.parameters:
                self.parameters[module, name, parameter] |= bit
            for parameter in function.required:
                self.required[module, name, parameter] |= bit

    def _add_classes(self, release: Release, bit: int) -> None:
        own = defaultdict(set)
        for module, class_name, attribute in self.attributes:
            own[module, class_name].add(attribute)
        for module, surface in release.modules.items():
            for name, one in surface.classes.items() if surface is not None else ():
                self.classes[module, name] |= bit
                ancestry = list(release.ancestry(module, one))
                effective: set[str] = set().union(*(each.attributes for _, each in ancestry))
                dynamic = any(each.dynamic for _, each in ancestry)
                for attribute in own[module, name] | one.attributes:
                    if dynamic or attribute in effective:
                        self.attributes[module, name, attribute] |= bit
                self.roots[name] = frozenset(each.name for _, each in ancestry[1:])

"""One release of a library as a whole: what each module offers once stars, re-exports and base classes are followed."""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from apihistory.packages import Library
from apihistory.surface import Class, Function, Surface, surface_of

_LONGEST_CHAIN = 12  # modules through which a re-export, or classes through which a base, is followed

Read = dict[str, tuple[bytes, "Surface | None"]]


@dataclass
class Release:
    """Modules of a release by dotted name; None for one that could not be read."""

    modules: dict[str, Surface | None]
    packages: set[str]
    closed: frozenset[str] = frozenset()
    _names: dict[str, set[str]] = field(default_factory=dict)
    _borrowed: dict[str, set[str]] = field(default_factory=dict)
    _dynamic: dict[str, bool] = field(default_factory=dict)

    def names(self, module: str) -> set[str]:
        """Names that can be imported from a module, its own submodules among them."""
        if module not in self._names:
            self._names[module] = set()  # a circle of stars ends here
            self._names[module] = self._collect(module)
        return self._names[module]

    def is_dynamic(self, module: str) -> bool:
        """Whether a module, or one that it takes by `*`, may offer names that were not seen."""
        if module not in self._dynamic:
            self._dynamic[module] = False  # a circle of stars ends here
            self._dynamic[module] = self._may_offer_more(module)
        return self._dynamic[module]

    def _may_offer_more(self, module: str) -> bool:
        surface = self.modules.get(module)
        if module in self.closed:
            return False
        if surface is None or surface.dynamic:
            return True
        outside = [each for each in surface.stars if each not in self.modules]
        if any(each.partition(".")[0] != module.partition(".")[0] for each in outside):
            return True
        return any(self._lets_all_through(each) and self.is_dynamic(each) for each in surface.stars)

    def _lets_all_through(self, module: str) -> bool:
        """Whether a star of a module takes all that it has, for no list of literals says what is offered."""
        surface = self.modules.get(module)
        return surface is not None and (not surface.exported or surface.exports_more)

    def borrowed(self, module: str) -> set[str]:
        """Names that a module imports from other packages, or takes by `*` from a module that does."""
        if module not in self._borrowed:
            self._borrowed[module] = set()
            surface = self.modules.get(module)
            found = set(surface.borrowed) if surface is not None else set()
            for star in surface.stars if surface is not None else ():
                other, offered = self.modules.get(star), self.borrowed(star)
                listed = other is not None and other.exported and not other.exports_more
                found |= offered & other.exported if other and listed else {each for each in offered if each[:1] != "_"}
            self._borrowed[module] = found
        return self._borrowed[module]

    def _collect(self, module: str) -> set[str]:
        surface = self.modules[module]
        found = {each.rpartition(".")[2] for each in self.packages_of(module)}
        if surface is None:
            return found
        found |= surface.defined | set(surface.origins) | surface.lazy
        if surface.offers_all:
            below = f"{module}." if "." in module else f"{module}.models."
            found |= {
                each
                for name, one in self.modules.items()
                if one and name.startswith(below)
                for each in one.exported or ()
            }
        for star in surface.stars:
            other = self.modules.get(star)
            if other is not None:
                offered = self.names(star)
                public = {each for each in offered if each[:1] != "_"}
                found |= (other.exported & offered) if other.exported and not other.exports_more else public
        return found

    def packages_of(self, module: str) -> Iterator[str]:
        """Yield submodules of a package."""
        if module in self.packages:
            yield from self._children().get(module, ())

    def _children(self) -> Mapping[str, list[str]]:
        if not hasattr(self, "_by_parent"):
            self._by_parent: dict[str, list[str]] = {}
            for each in self.modules:
                self._by_parent.setdefault(each.rpartition(".")[0], []).append(each)
        return self._by_parent

    def definer(self, module: str, name: str, depth: int = 0) -> tuple[str, str] | None:
        """Module and name where something offered by a module is defined; None when it is not followed to its end."""
        surface = self.modules.get(module)
        if surface is None or depth > _LONGEST_CHAIN:
            return None
        if name in surface.defined and name not in surface.origins:
            return module, name
        if name in surface.origins:
            return self.definer(*surface.origins[name], depth + 1)
        for star in surface.stars:
            if star in self.modules and name in self.names(star):
                return self.definer(star, name, depth + 1)
        return None

    def bases(self, module: str, one: Class) -> Iterator[tuple[str, Class]]:
        """Yield the direct bases of a class that this library defines."""
        for written in one.bases:
            head, _, tail = written.rpartition(".")
            place = self.definer(module, tail) if not head else None
            surface = self.modules.get(place[0]) if place else None
            if place and surface is not None and place[1] in surface.classes and surface.classes[place[1]] is not one:
                yield place[0], surface.classes[place[1]]

    def ancestry(self, module: str, one: Class, depth: int = 0) -> Iterator[tuple[str, Class]]:
        """Yield a class and all its bases inside the library, each with its module."""
        yield module, one
        if depth < _LONGEST_CHAIN:
            for place, base in self.bases(module, one):
                yield from self.ancestry(place, base, depth + 1)

    def functions(self) -> Iterator[tuple[str, str, Function]]:
        """Yield module, qualified name and parameters of every function, method and generated constructor."""
        for module, surface in self.modules.items():
            if surface is None:
                continue
            yield from ((module, name, each) for name, each in surface.functions.items())
            for name, one in surface.classes.items():
                yield from ((module, f"{name}.{method}", each) for method, each in one.methods.items())
                if one.fields is not None and "__init__" not in one.methods:
                    yield module, f"{name}.__init__", self._generated(module, one)

    def _generated(self, module: str, one: Class) -> Function:
        fields: dict[str, bool] = {}
        for _, each in reversed(list(self.ancestry(module, one))):
            fields.update(each.fields or {})
        return Function(tuple(fields), frozenset(name for name, needed in fields.items() if needed), open=False)


def read_release(archive: Path, library: Library, followed: frozenset[str], before: Read) -> tuple[Release, Read]:
    """Read a zip of sources; files that are as in the release `before` are not parsed again."""
    read: Read = {}
    modules: dict[str, Surface | None] = {}
    packages = set()
    outline = re.compile(library.outline) if library.outline else None
    with zipfile.ZipFile(archive) as opened:
        for path in opened.namelist():
            content = opened.read(path)
            digest = hashlib.sha1(content, usedforsecurity=False).digest()
            is_package = path.endswith("/__init__.py")
            module = path.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
            if path in before and before[path][0] == digest:
                read[path] = before[path]
            else:
                text = content.decode("utf-8", "replace").lstrip("\ufeff")
                read[path] = (
                    digest,
                    surface_of(
                        text,
                        module,
                        is_package=is_package,
                        followed=followed,
                        outline=bool(outline and outline.match(path)),
                    ),
                )
            modules[module] = read[path][1]
            if is_package:
                packages.add(module)
    folders = {parent for name in modules for parent in _parents(name)} - set(modules)
    modules.update({each: Surface() for each in folders if each.partition(".")[0] == library.package})
    return Release(modules, packages | folders, frozenset(library.closed)), read


def _parents(module: str) -> Iterator[str]:
    while "." in module:
        module = module.rpartition(".")[0]
        yield module

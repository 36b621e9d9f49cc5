"""Histories as the tables that are shipped: only what changed, grouped by the releases that have it.

A **span** is text: "3-17" (positions in `versions`), "3-" (still there), several joined by ",". A **group** is
`{place: "span name name;span name"}`; the place is a module, "module:Class" or "module:function".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from apihistory.history import History
from apihistory.packages import Library

Group = dict[str, str]

#: parts of a package that only its own tests and command lines import
# numpy.distutils is in the builds for Python 3.11 and older alone, and one build of a release is read
# (https://numpy.org/doc/stable/reference/distutils_status_migration.html)
_PRIVATE_PLACE = re.compile(
    r"^numpy\.distutils(\.|$)|"
    r"\.modular_|\.(_?version|git_version\w*|_C|\w+_pb2(_grpc)?|vllm_flash_attn|core\._\w+)(\.|$)|\.(tests?|testing|conftest|scripts|commands|__main__)(\.|$)|\.test_"
)
#: classes whose objects users hold in their hands
_MET = re.compile(
    r"^(?!TF|Flax).*(Model|LM|Generation|Classification|Config|Arguments|Tokenizer|TokenizerFast|Processor|Trainer|Cache|"
    r"Dataset|Engine|Worker|Callback|Optimizer|Attention|Attention2|Mixin|Args|Params|Client)$"
)
_NEVER_IMPORTED = re.compile(r"\.modular_|\.utils\.dummy_|\.(tests?|testing)\.")
_SHALLOW = 2  # dots in the name of a module that is kept whatever it belongs to
_SHORTEST_TELLING = 3  # a name of so few letters is defined everywhere
_UNINTERESTING = re.compile(
    r"__\w+__|logger|T|K|V|P|_T|_\w_?|\w|parser|args|_import_structure|_extra_objects|_file|console"
)


def span_of(mask: int, count: int) -> str:
    """A set of releases as text."""
    parts, start = [], None
    for position in range(count + 1):
        there = position < count and mask >> position & 1
        if there and start is None:
            start = position
        elif not there and start is not None:
            end = "" if position == count else str(position - 1)
            parts.append(f"{start}-{end}")
            start = None
    return ",".join(parts)


def names_table(library: Library, history: History, asked: Mapping[str, History]) -> dict[str, Any]:
    """Modules and their names that came or went, where they are now, and what is asked of other libraries."""
    wanted = {ask for each in asked.values() for ask in each.asks}
    sought = {module for module, _ in wanted}
    kept = {module: not library.is_internal(module) for module in history.modules}
    holders = {each.rpartition(".")[0] for each in history.modules}  # a package offers what it imports
    changed = {
        key: mask
        for key, mask in changed_names(history).items()
        if key in wanted or (kept[key[0]] and (key[0] in holders or key in history.definitions))
    }
    modules = {
        module: mask
        for module, mask in changed_modules(history).items()
        if kept[module] or module.count(".") <= _SHALLOW or module in sought
    }
    return {
        "distribution": library.name,
        "every": library.every,
        "versions": history.versions,
        "whole": True,  # all modules that came or went are listed, none only as the package above it
        "partial": _partial(history, modules),
        "modules": _module_group(history, modules),
        "names": _grouped(history, changed),
        "moved": _moves(library, history, changed),
        "moved_modules": _moved_modules(history),
        "renamed": _renames(history),
        "asks": _asks(history, asked),
    }


def members_table(library: Library, history: History) -> dict[str, Any]:
    """Attributes of classes and parameters of functions that came or went, and the bases of classes.

    In releases without the class, or with two of its name, an attribute counts as there: nothing is told of them.
    """
    kept = {module: library.follows_members(module) for module in history.modules}
    unclear = _ambiguous(history.classes) | _ambiguous(history.functions)
    attributes = {}
    for (module, name, each), mask in history.attributes.items():
        exists = history.classes[module, name] & ~unclear.get(name, 0)
        if exists & ~mask and kept[module] and _counts(module, each):
            attributes[f"{module}:{name}", each] = mask | history.everywhere & ~exists
    parameters, required = {}, {}
    for (module, name, each), mask in history.parameters.items():
        if not kept[module] or not _counts(module, each):
            continue
        exists = history.functions[module, name] & ~unclear.get(name, 0)
        takes = mask | history.open_functions[module, name]
        if exists & ~takes:
            parameters[f"{module}:{name}", each] = takes | history.everywhere & ~exists
        needed = history.required.get((module, name, each), 0) & exists
        if needed and exists & ~needed:
            required[f"{module}:{name}", each] = needed
    owners = {place.partition(":")[2] for place, _ in attributes}
    return {
        "attributes": _grouped(history, attributes),
        "parameters": _grouped(history, parameters),
        "required": _grouped(history, required),
        "bases": _bases(history, owners),
    }


def _ambiguous(masks: Mapping[tuple[str, str], int]) -> dict[str, int]:
    """Releases in which two modules define a name: an exception that has the name alone does not tell which."""
    seen: dict[str, int] = defaultdict(int)
    twice: dict[str, int] = defaultdict(int)
    for (module, name), mask in masks.items():
        if not _NEVER_IMPORTED.search(module):
            twice[name] |= seen[name] & mask
            seen[name] |= mask
    return {name: mask for name, mask in twice.items() if mask}


@cache
def changed_modules(history: History) -> dict[str, int]:
    """Modules that not every release has, each by its own name: of one that is not here nothing may be told."""
    return {
        module: mask
        for module, mask in history.modules.items()
        if mask != history.everywhere and not _PRIVATE_PLACE.search(module)
    }


@cache
def changed_names(history: History) -> dict[tuple[str, str], int]:
    """Names that a module has in some of its releases only; what code that was not read may bring counts as there.

    A name that is a submodule in some releases and an object in others is listed whether it changed or not.
    """
    found = {}
    for (module, name), mask in history.names.items():
        there = mask | history.dynamic[module] | history.borrowed.get((module, name), 0)
        as_module = history.modules.get(f"{module}.{name}")
        differs = as_module != there if as_module is not None else history.modules[module] & ~there
        if differs and _counts(module, name):
            found[module, name] = there
    return found


def _counts(place: str, name: str) -> bool:
    return not _PRIVATE_PLACE.search(place) and not _UNINTERESTING.fullmatch(name) and len(name) <= 60


def _grouped(history: History, masks: Mapping[tuple[str, str], int]) -> Group:
    groups: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for (place, name), mask in sorted(masks.items()):
        groups[place][span_of(mask, len(history.versions))].append(name)
    return {
        place: ";".join(" ".join([span, *names]) for span, names in sorted(group.items()))
        for place, group in sorted(groups.items())
    }


def _module_group(history: History, masks: Mapping[str, int]) -> dict[str, str]:
    groups: dict[str, list[str]] = defaultdict(list)
    for module, mask in sorted(masks.items()):
        groups[span_of(mask, len(history.versions))].append(module)
    return {span: " ".join(modules) for span, modules in sorted(groups.items())}


def _partial(history: History, listed: Mapping[str, int]) -> list[str]:
    """Packages directly above modules that came or went and are not listed, without those inside of another one.

    What is not listed below them may have been there.
    """
    left = {
        module.rpartition(".")[0]
        for module, mask in history.modules.items()
        if mask != history.everywhere and module not in listed
    }
    left |= {module for module, mask in history.dynamic.items() if mask}
    return sorted(each for each in left if not any(each.startswith(f"{other}.") for other in left))


def _newest(history: History) -> int:
    return 1 << len(history.versions) - 1


def _moves(library: Library, history: History, changed: Mapping[tuple[str, str], int]) -> dict[str, str]:
    """Where a name that went can be imported from in the release after, if one definition alone has it there.

    What stands there for a library that is absent (`dummy_pt_objects`) defines nothing.
    """
    definers, offered = defaultdict(list), defaultdict(list)
    for table, found in ((history.definitions, definers), (history.names, offered)):
        for (module, name), mask in table.items():
            if not _PRIVATE_PLACE.search(module) and not _NEVER_IMPORTED.search(module):
                found[name].append((module, mask))
    lost = {key: mask for key, mask in changed.items() if not mask & _newest(history)}
    lost |= {
        (module, name): history.names[module, name]
        for module, name in history.definitions
        if not history.modules[module] & _newest(history) and _counts(module, name) and not library.is_internal(module)
    }
    moves = defaultdict(list)
    for (module, name), mask in sorted(lost.items()):
        last = mask.bit_length() - 1
        before, after = (_places(definers[name], position) for position in (last, last + 1))
        if len(name) <= _SHORTEST_TELLING or len(after) != 1 or (len(before) > 1 and after <= before):
            continue  # the one that is left of several is another thing of the same name
        offering = _places(offered[name], last + 1) - {module}
        place = min(offering, key=lambda each: _order(each, *after), default=None)
        if place is not None and ("._" in module or "._" not in place):  # a private place is no advice
            moves[place].append(f"{module}:{name}")
    return {place: " ".join(keys) for place, keys in sorted(moves.items())}


def _places(found: list[tuple[str, int]], position: int) -> frozenset[str]:
    return frozenset(module for module, mask in found if mask >> position & 1)


def _order(place: str, definer: str) -> tuple[int, int, int]:
    """First the public module that defines a name and the packages around it, then its neighbours, last mere importers.

    A public module beside a private one is there to offer what that defines.
    """
    around = f"{definer}.".startswith(f"{place}.")
    beside = place.rpartition(".")[0] == definer.rpartition(".")[0]
    public = "._" not in place
    ranks = (public and around, public and beside, place == definer, public)
    return next((rank for rank, holds in enumerate(ranks) if holds), len(ranks)), place.count("."), len(place)


def _moved_modules(history: History) -> dict[str, str]:
    """Modules that are gone, with the one in the newest release that defines most of what they defined."""
    newest = _newest(history)
    of_module, places = defaultdict(set), defaultdict(set)
    for (module, name), mask in history.definitions.items():
        if mask & newest:
            places[name].add(module)
        elif not history.modules[module] & newest and name[:2] != "__" and _counts(module, name):
            of_module[module].add(name)
    found = {}
    for module, names in of_module.items():
        votes: dict[str, int] = defaultdict(int)
        for name in sorted(names):
            for place in sorted(places[name]) if len(places[name]) <= 2 else ():
                votes[place] += 1
        best = max(votes, key=lambda each: votes[each], default=None)
        if best is not None and votes[best] * 5 >= len(names) * 3:
            found[module] = best
    return found


def _renames(history: History) -> dict[str, str]:
    newest = _newest(history)
    found = {}
    for (module, old), new in sorted(history.renamed.items()):
        gone = not history.names[module, old] & newest
        there = any(mask & newest and name == new for (_, name), mask in history.definitions.items()) if gone else False
        if gone and there and new[:1] != "_" and _counts(module, old):
            found[f"{module}:{old}"] = new
    return found


def _asks(history: History, asked: Mapping[str, History]) -> Group:
    """What is imported of other libraries, as far as it came or went there."""
    changes = {package: (changed_names(each), changed_modules(each)) for package, each in asked.items()}
    masks: dict[tuple[str, str], int] = defaultdict(int)
    for (module, name), mask in history.asks.items():
        names, modules = changes.get(module.partition(".")[0], ({}, {}))
        if (module, name) in names:
            masks[module, name] |= mask
        for each in _prefixes(f"{module}.{name}" if name else module):
            if each in modules:
                masks[each, "."] |= mask
    return _grouped(history, masks)


def _prefixes(dotted: str) -> Iterable[str]:
    parts = dotted.split(".")
    return (".".join(parts[:count]) for count in range(2, len(parts) + 1))


def _bases(history: History, owners: set[str]) -> dict[str, str]:
    """Classes by those of their bases whose attributes changed."""
    groups = defaultdict(list)
    for name, bases in sorted(history.roots.items()):
        kept = " ".join(sorted(bases & owners - {name}))
        if kept and _MET.search(name):
            groups[kept].append(name)
    return {bases: " ".join(names) for bases, names in sorted(groups.items())}

"""Key schemas of veRL (Hydra's composed YAML) and Trinity-RFT (nested dataclasses), flattened to dotted keys."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from posixpath import basename, dirname, join, normpath
from typing import Any

from versiondata.dataclass_fields import LONGEST_DEFAULT, parse, source_text
from versiondata.history import Column, column

VERL_ROOT = "verl/trainer/config"
VERL_EXTRA_ENGINES = ("torchtitan", "veomni")  # dp is the default, megatron has a file of its own
VERL_CONFIGS = ("ppo_trainer", "ppo_megatron_trainer", "sft_trainer", "sft_trainer_engine")
TRINITY_FILE = "trinity/common/config.py"
Leaf = list[Any]  # [type, default] or [type, default, True] for a mapping that takes keys of the user's own


class HydraFolder:
    """A folder of Hydra configuration files: composes one of them with its ``defaults`` list, as far as veRL uses
    Hydra's rules.
    """

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = {
            path.removeprefix(VERL_ROOT + "/").removesuffix(".yaml"): text
            for path, text in sources.items()
            if path.startswith(VERL_ROOT + "/") and path.endswith(".yaml")
        }

    def options(self, group: str) -> list[str]:
        """Names of the files in a group's folder."""
        return sorted(basename(path) for path in self._sources if dirname(path) == group)

    def __contains__(self, name: str) -> bool:
        """Whether the folder has a configuration of that name."""
        return name in self._sources

    def compose(self, name: str, choices: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The configuration from which the program starts with ``--config-name NAME`` and these group choices."""
        result: dict[str, Any] = {}
        self._include(name, "", result, dict(choices or {}), dict(choices or {}))
        return result

    def _include(
        self, path: str, package: str, result: dict[str, Any], chosen: dict[str, str], fixed: Mapping[str, str]
    ) -> None:
        text = self._sources[path]
        if text.lstrip().startswith("# @package _global_"):
            package = ""
        content = _yaml(text)
        entries = content.pop("defaults", None) or []
        fixed = {**_overrides(entries), **fixed}
        chosen.update(fixed)
        written = False
        for entry in entries:
            if entry == "_self_":
                _merge_at(result, package, content)
                written = True
            else:
                self._include_entry(entry, path, package, result, chosen, fixed)
        if not written:
            _merge_at(result, package, content)

    def _include_entry(
        self,
        entry: Any,
        path: str,
        package: str,
        result: dict[str, Any],
        chosen: dict[str, str],
        fixed: Mapping[str, str],
    ) -> None:
        if isinstance(entry, str):
            name, _, inner = entry.partition("@")
            self._include(_beside(path, name), ".".join(filter(None, (package, inner))), result, chosen, fixed)
            return
        ((target, option),) = entry.items()
        words = target.split()
        if "override" in words or option is None:
            return
        group, _, inner = words[-1].partition("@")
        folder = _beside(path, group)
        option = fixed.get(group, option)
        for name in option if isinstance(option, list) else [option]:
            chosen_name = _interpolated(name, chosen)
            chosen.setdefault(group, chosen_name)
            where = ".".join(filter(None, (package, inner or folder.replace("/", "."))))
            self._include(join(folder, chosen_name), where, result, chosen, fixed)


def _interpolated(name: str, chosen: Mapping[str, str]) -> str:
    """Put the choices made so far in the place of ``${group}``."""
    for group, value in chosen.items():
        name = name.replace("${" + group + "}", value)
    return name


def _overrides(entries: list[Any]) -> dict[str, str]:
    """Group choices that a ``defaults`` list makes by ``override``."""
    return {
        target.split()[-1]: option
        for entry in entries
        if isinstance(entry, dict)
        for target, option in entry.items()
        if target.startswith("override ")
    }


def _beside(path: str, name: str) -> str:
    return name.lstrip("/") if name.startswith("/") else normpath(join(dirname(path), name))


def _yaml(text: str) -> dict[str, Any]:
    from ruamel.yaml import YAML

    content = YAML(typ="safe", pure=True).load(text)
    return dict(content or {})


def _merge_at(result: dict[str, Any], package: str, content: Mapping[str, Any]) -> None:
    place = result
    for part in filter(None, package.split(".")):
        inner = place.get(part)
        place[part] = place = inner if isinstance(inner, dict) else {}
    _merge(place, content)


def _merge(place: dict[str, Any], content: Mapping[str, Any]) -> None:
    for name, value in content.items():
        inner = place.get(name)
        if isinstance(inner, dict) and isinstance(value, Mapping):
            _merge(inner, value)
        elif isinstance(value, Mapping):
            place[name] = {}
            _merge(place[name], value)
        else:
            place[name] = value


def leaves(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Leaf]]:
    """Dotted key and [type, default] of every value; ``_target_`` (which class a node becomes) is no setting and left
    out.
    """
    for name, value in content.items():
        key = f"{prefix}{name}"
        if name == "_target_":
            continue
        if isinstance(value, Mapping) and value:
            yield from leaves(value, key + ".")
        else:
            yield key, _leaf(value)


def _leaf(value: Any) -> Leaf:
    if isinstance(value, Mapping):
        return ["dict", {}, True]
    if value is None:
        return ["null", None]
    if isinstance(value, str) and "${" in value:
        return ["interpolation", value]
    if isinstance(value, list):
        return ["list", value if len(str(value)) <= LONGEST_DEFAULT else None]
    return [type(value).__name__, value]


def verl_keys(folders: Mapping[str, HydraFolder]) -> dict[str, Any]:
    """Content of ``verl_keys.json``: every key of each configuration as a column over releases, repeated values
    interned.
    """
    composed: dict[str, dict[str, dict[str, Leaf]]] = {}
    engines = {version: folder.options("model_engine") for version, folder in folders.items()}
    for version, folder in folders.items():
        for name in VERL_CONFIGS:
            if name in folder:
                composed.setdefault(name, {})[version] = dict(leaves(folder.compose(name)))
        for engine in set(engines[version]) & set(VERL_EXTRA_ENGINES):
            found = dict(leaves(folder.compose("ppo_trainer", {"model_engine": engine})))
            composed.setdefault(f"ppo_trainer model_engine={engine}", {})[version] = found
    order = list(folders)
    interned = Interned(order)
    return {
        "versions": order,
        "engines": column((version, engines[version]) for version in order),
        "configs": {name: interned.columns(per_version) for name, per_version in sorted(composed.items())},
        "leaves": interned.leaves,
    }


class Interned:
    """Columns of keys in which releases and values are written as positions: ``[[version index, leaf index or None],
    ...]``.
    """

    def __init__(self, order: list[str]) -> None:
        self.leaves: list[Leaf] = []
        self._order = order
        self._places: dict[str, int] = {}

    def columns(self, per_version: Mapping[str, Mapping[str, Leaf]]) -> dict[str, Column]:
        """Every key of one configuration; None as leaf index where a release lacks the key."""
        names = sorted({name for keys in per_version.values() for name in keys})
        return {name: self._column(name, per_version) for name in names}

    def _column(self, name: str, per_version: Mapping[str, Mapping[str, Leaf]]) -> Column:
        found = column((version, per_version.get(version, {}).get(name)) for version in self._order)
        return [[self._order.index(version), None if leaf is None else self._place(leaf)] for version, leaf in found]

    def _place(self, leaf: Leaf) -> int:
        text = json.dumps(leaf)
        if text not in self._places:
            self._places[text] = len(self.leaves)
            self.leaves.append(leaf)
        return self._places[text]


# --- Trinity-RFT ------------------------------------------------------------------------------------------------------


def trinity_classes(text: str) -> dict[str, dict[str, Leaf]]:
    """Fields of ``Config`` and of every dataclass reachable from it: ``[type, default]``, ``[type, default, True]`` for
    a mapping with keys of the user's own, or ``[type, many, class]`` for a nested one (``many``: "", "list" or "dict").
    """
    tree = parse(text)
    classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)} if tree else {}
    found: dict[str, dict[str, Leaf]] = {}
    waiting = ["Config"]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = {}
        for statement in _fields(classes[name], classes):
            assert isinstance(statement.target, ast.Name)
            inner = _inner_class(statement.annotation, classes)
            found[name][statement.target.id] = _nested_leaf(statement, inner) if inner else _field_leaf(statement)
            waiting.extend([inner[0]] if inner else [])
    return found


def _nested_leaf(statement: ast.AnnAssign, inner: tuple[str, str]) -> Leaf:
    return [ast.unparse(statement.annotation), inner[1], inner[0]]


def _fields(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> Iterator[ast.AnnAssign]:
    for base in node.bases:
        if ast.unparse(base) in classes:
            yield from _fields(classes[ast.unparse(base)], classes)
    for statement in node.body:
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        if "ClassVar" not in ast.unparse(statement.annotation):
            yield statement


def _inner_class(annotation: ast.expr, classes: Mapping[str, ast.ClassDef]) -> tuple[str, str] | None:
    """The configuration class that an annotation names, and whether a list or a mapping of it."""
    named = [each.id for each in ast.walk(annotation) if isinstance(each, ast.Name)]
    known = [name for name in named if name in classes and _is_dataclass(classes[name])]
    if not known:
        return None
    many = "list" if {"List", "list"} & set(named) else "dict" if {"Dict", "dict"} & set(named) else ""
    return known[0], many


def _is_dataclass(node: ast.ClassDef) -> bool:
    return any("dataclass" in ast.unparse(each) for each in node.decorator_list)


def _field_leaf(statement: ast.AnnAssign) -> Leaf:
    kind = ast.unparse(statement.annotation)
    free = kind.lower().startswith(("dict", "optional[dict", "any"))
    return [kind, _literal_default(statement.value), *([True] if free else [])]


def _literal_default(value: ast.expr | None) -> Any:
    if isinstance(value, ast.Call):
        given = {each.arg: each.value for each in value.keywords}
        if "default" in given:
            return _literal_default(given["default"])
        factory = ast.unparse(given["default_factory"]) if "default_factory" in given else ""
        return {"list": [], "dict": {}}.get(factory)
    try:
        return None if value is None else ast.literal_eval(value)
    except ValueError:
        return source_text(value) if value is not None else None


def trinity_keys(per_version: Mapping[str, str]) -> dict[str, Any]:
    """Content of ``trinity_keys.json`` from the text of TRINITY_FILE per release: a column for every field of every
    class.
    """
    order = list(per_version)
    read = {version: trinity_classes(text) for version, text in per_version.items()}
    names = sorted({name for classes in read.values() for name in classes})
    interned = Interned(order)
    classes = {name: interned.columns({version: read[version].get(name, {}) for version in order}) for name in names}
    return {"versions": order, "classes": classes, "leaves": interned.leaves}

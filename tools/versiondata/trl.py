"""TRL: what each configuration class and trainer takes in each release, and which classes a `trl` sub-command reads."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from versiondata.dataclass_fields import Argument, SourceClass, classes_of, parse, with_warnings
from versiondata.history import argument_histories, column, spans_of

SERVE_ARGUMENTS = "vllm_serve.ScriptArguments"  # the server's own class; plain ScriptArguments is the training scripts'
_WANTED = re.compile(r"^(?!_|Example|Custom|Base|OnPolicy|Onpolicy|SelfDistillation).*(Config|Arguments|Trainer)$")
_SKIPPED_MODULES = ("trl.commands.scripts.", "trl.extras.", "trl.models.", "trl.experimental.openenv")


class TrlRelease:
    """The classes of one TRL wheel, from its source texts by path."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.sources = {path: text for path, text in sources.items() if path.startswith("trl/")}
        self._classes = classes_of(self.sources)
        self._arguments: dict[str, dict[str, Argument]] = {}
        self._top = self.sources.get("trl/__init__.py", "")

    def names(self) -> set[str]:
        """Names of the configuration classes and trainers that a user may meet."""
        found = {name for name in self._classes if _WANTED.match(name) and self.definition(name)}
        return found | ({SERVE_ARGUMENTS} if self._serve() else set())

    def definition(self, name: str) -> SourceClass | None:
        """The class that really declares things: no shim, and the library's own where there are several."""
        if name == SERVE_ARGUMENTS:
            return self._serve()
        candidates = [each for each in self._classes.get(name, ()) if not each.shim and self._ours(each)]
        return min(candidates, key=lambda each: (each.module.startswith("trl.experimental"), each.module), default=None)

    def _serve(self) -> SourceClass | None:
        return next((each for each in self._classes.get("ScriptArguments", ()) if _serves(each)), None)

    @staticmethod
    def _ours(each: SourceClass) -> bool:
        return not each.module.startswith(_SKIPPED_MODULES) and not _serves(each)

    def exported(self, name: str) -> bool:
        """Whether ``from trl import NAME`` is meant to work."""
        return re.search(rf"\b{re.escape(name)}\b", self._top) is not None

    def bases_outside(self, name: str) -> list[str]:
        """Base classes outside TRL, through all levels."""
        definition = self.definition(name)
        found: list[str] = []
        for base in definition.bases if definition else ():
            inner = self.definition(base)
            for each in self.bases_outside(base) if inner else [base]:
                if each not in found and each != "object":
                    found.append(each)
        return found

    def arguments(self, name: str) -> dict[str, Argument]:
        """What the class takes, TRL's bases included: dataclass fields, or a trainer's constructor parameters."""
        if name not in self._arguments:
            self._arguments[name] = self._read_arguments(name)
        return self._arguments[name]

    def _read_arguments(self, name: str) -> dict[str, Argument]:
        definition = self.definition(name)
        if definition is None:
            return {}
        if name.endswith("Trainer"):
            return self._parameters(definition)
        found: dict[str, Argument] = {}
        for base in reversed(definition.bases):
            found.update(self.arguments(base))
        found.update(with_warnings(definition))
        return found

    def _parameters(self, definition: SourceClass) -> dict[str, Argument]:
        parameters = dict(definition.parameters)
        for base in definition.bases if definition.passes_on else ():
            parameters = {**self.arguments(base), **parameters}
        return parameters

    def commands(self) -> dict[str, list[str]]:
        """Sub-commands of `trl` and the dataclasses whose fields are their flags, from every ``make_parser``."""
        found = {}
        for path, text in self.sources.items():
            match = re.fullmatch(r"trl/scripts/(\w+)\.py", path)
            classes = _dataclass_types(text) if match and "def make_parser" in text else []
            if match and classes:
                name = match.group(1).replace("_", "-")
                found[name] = [SERVE_ARGUMENTS] if name == "vllm-serve" and classes == ["ScriptArguments"] else classes
        return found


def _serves(each: SourceClass) -> bool:
    return each.name == "ScriptArguments" and each.module.endswith(".vllm_serve")


def _dataclass_types(text: str) -> list[str]:
    """Names in the tuple that a script hands to TrlParser."""
    tree = parse(text)
    for node in ast.walk(tree) if tree else ():
        value: ast.expr | None = None
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "dataclass_types":
            value = node.value
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("TrlParser", "add_parser")):
            given = [each.value for each in node.keywords if each.arg == "dataclass_types"]
            value = given[0] if given else (node.args[0] if node.args else None)
        if isinstance(value, ast.Tuple):
            return [ast.unparse(each) for each in value.elts]
        if isinstance(value, ast.Name) and value.id[:1].isupper():
            return [value.id]
    return []


def trl_arguments(
    releases: Mapping[str, TrlRelease], notes: Mapping[str, Mapping[str, Mapping[str, str]]], inherited: frozenset[str]
) -> dict[str, Any]:
    """Content of ``trl_args.json``: classes and commands; ``inherited`` are the names of TrainingArguments' fields."""
    order = list(releases)
    names = sorted({name for release in releases.values() for name in release.names()})
    classes = {name: _class_content(name, order, releases, notes.get(name, {}), inherited) for name in names}
    commands = sorted({name for release in releases.values() for name in release.commands()})
    return {
        "versions": order,
        "classes": classes,
        "commands": {
            name: column((version, releases[version].commands().get(name)) for version in order) for name in commands
        },
    }


def _class_content(
    name: str,
    order: list[str],
    releases: Mapping[str, TrlRelease],
    notes: Mapping[str, Mapping[str, str]],
    inherited: frozenset[str],
) -> dict[str, Any]:
    defined = [version for version in order if releases[version].definition(name)]
    per_version = {version: releases[version].arguments(name) if version in defined else None for version in order}
    outside = {version: releases[version].bases_outside(name) for version in defined}
    is_training = any("TrainingArguments" in bases for bases in outside.values())
    module = {version: getattr(releases[version].definition(name), "module", None) for version in defined}
    return {
        "spans": spans_of(defined, order),
        "modules": column((version, module[version]) for version in defined),
        "exported": column((version, releases[version].exported(name)) for version in defined),
        "bases": column((version, outside[version]) for version in defined),
        "arguments": argument_histories(per_version, notes, inherited if is_training else frozenset()),
    }

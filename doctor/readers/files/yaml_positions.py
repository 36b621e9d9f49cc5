"""YAML with the position of every key: ruamel's parser, PyYAML's meaning."""

from __future__ import annotations

import re
from dataclasses import field
from typing import Any

from doctor.base.evidence import Observed, Place
from doctor.base.fact import BrokenFile, RepeatedKey
from doctor.base.record import distinct
from doctor.readers.command.argv import secured
from doctor.readers.files.located import Located, repeated
from doctor.readers.files.yaml11 import as_float, as_int, plain_value
from doctor.readers.files.yaml_plain import plain_nodes

#: values after aliases are expanded; a file of the stack has a few hundred
MOST_VALUES = 20_000
_TAG = "tag:yaml.org,2002:"
_SCALARS = frozenset(_TAG + name for name in ("str", "null", "bool", "int", "float", "timestamp", "value", "merge"))
_KNOWN_TAGS = _SCALARS | {_TAG + name for name in ("binary", "omap", "pairs", "set", "seq", "map")}


class _BadYaml(Exception):  # noqa: N818 - becomes a BrokenFile
    """What is wrong, and the node at which it is."""

    def __init__(self, message: str, node: Any) -> None:
        super().__init__(message)
        self.node = node


def parse_yaml(text: str, path: str, *, omegaconf: bool = False) -> Located:
    """Read a YAML text into settings; see `doctor.facts.located`."""
    plain = plain_nodes(text.removeprefix("\ufeff"))
    return _located(path, plain, _Reader(path, omegaconf)) if plain is not None else _composed(text, path, omegaconf)


def _composed(text: str, path: str, omegaconf: bool) -> Located:
    """The same by a parser of all of YAML."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    yaml = YAML(typ="safe", pure=True)
    yaml.version = (1, 1)
    yaml.composer.warn_double_anchors = False  # an anchor may be given anew; nobody is told on our standard error
    try:
        root = yaml.compose(text.removeprefix("\ufeff"))
    except MarkedYAMLError as exc:
        return Located(path, broken=_broken(path, text, exc))
    except (YAMLError, ValueError) as exc:
        return Located(path, broken=_unreadable(path, text, exc))
    except RecursionError:
        return Located(path, broken=BrokenFile(Place(path), "it is nested too deeply"))
    if root is None:
        return Located(path, broken=BrokenFile(Place(path), "it is empty"))
    return _located(path, root, _Reader(path, omegaconf))


def _located(path: str, root: Any, reader: _Reader) -> Located:
    try:
        document = reader.value("", root, root)
    except _BadYaml as exc:
        return Located(path, broken=BrokenFile(_place(path, exc.node), str(exc)))
    except RecursionError:
        return Located(path, broken=BrokenFile(Place(path), "it is nested too deeply"))
    if not isinstance(document, dict):
        kind = "a list" if isinstance(document, list) else "a single value"
        broken = BrokenFile(_place(path, root), f"it holds {kind} where `key: value` lines belong")
        return Located(path, broken=broken)
    return Located(path, reader.settings, document, tuple(reader.repeated.values()))


def _place(path: str, node: Any) -> Place:
    return Place(path, node.start_mark.line + 1, node.start_mark.column + 1)


@distinct
class _Reader:
    """Walks the nodes once and notes settings and repeated keys on the way."""

    path: str
    omegaconf: bool
    settings: dict[str, Observed] = field(default_factory=dict)
    repeated: dict[Place, RepeatedKey] = field(default_factory=dict)
    open_nodes: set[int] = field(default_factory=set)
    seen: int = 0

    def value(self, name: str, node: Any, key: Any, *, record: bool = True) -> Any:
        """Plain value of `node`; with `record`, its leaves go into `settings` as `name`, placed at `key`."""
        self._count(1, node)
        if id(node) in self.open_nodes:
            raise _BadYaml("an alias refers to the value that it is part of", node)
        self._check_tag(node)
        if isinstance(node.value, str):
            plain = self._scalar(node)
            if record and name:
                self._note(name, plain, key, node)
            return plain
        self.open_nodes.add(id(node))
        result = self._collection(name, node, key, record=record)
        self.open_nodes.discard(id(node))
        return result

    def _collection(self, name: str, node: Any, key: Any, *, record: bool) -> Any:
        if _is_mapping(node):
            result = self._mapping(name, node, record=record)
            if record and name and not result:
                self._note(name, {}, key, node)
            return result
        items = []
        for index, each in enumerate(node.value):
            inside = record and bool(name) and not isinstance(each.value, str)
            items.append(self.value(f"{name}.{index}", each, each, record=inside and _is_mapping(each)))
        if record and name:
            self._note(name, items, key, node)
        return items

    def _mapping(self, name: str, node: Any, *, record: bool) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in self._pairs(name, node):
            word = self._key(key)
            result[word] = self.value(f"{name}.{word}" if name else word, value, key, record=record)
        return result

    def _pairs(self, name: str, node: Any) -> list[tuple[Any, Any]]:
        """Keys and values of a mapping, those of `<<` first where nothing replaces them."""
        own: dict[str, tuple[Any, Any]] = {}
        first: dict[str, tuple[Any, Any]] = {}
        merged: dict[str, tuple[Any, Any]] = {}
        for key, value in node.value:
            if _is_merge(key):
                merged.update({self._key(each[0]): each for each in self._merged(name, value)})
                continue
            word = self._key(key)
            if word in own:
                if self.omegaconf:
                    message = f"the key `{name}.{word}` appears twice" if name else f"the key `{word}` appears twice"
                    raise _BadYaml(message, key)
                first.setdefault(word, own[word])
            own[word] = (key, value)
        for word, pair in first.items():
            self._repeated(f"{name}.{word}" if name else word, pair, own[word])
        return [pair for word, pair in merged.items() if word not in own] + list(own.values())

    def _merged(self, name: str, node: Any) -> list[tuple[Any, Any]]:
        """Pairs that `<<: *base` or `<<: [*a, *b]` brings in; of several the first wins."""
        if id(node) in self.open_nodes:
            raise _BadYaml("an alias refers to the value that it is part of", node)
        sources = [node] if _is_mapping(node) else node.value[::-1] if isinstance(node.value, list) else []
        if not sources or not all(_is_mapping(each) for each in sources):
            raise _BadYaml("`<<` merges something that is not a mapping", node)
        self.open_nodes.add(id(node))
        pairs = [pair for each in sources for pair in self._pairs(name, each)]
        self.open_nodes.discard(id(node))
        self._count(len(pairs), node)
        return pairs

    def _count(self, values: int, node: Any) -> None:
        self.seen += values
        if self.seen > MOST_VALUES:
            message = f"its aliases expand to more than {MOST_VALUES} values"
            raise _BadYaml(message, node)

    def _repeated(self, name: str, first: tuple[Any, Any], last: tuple[Any, Any]) -> None:
        """Note a key that stands twice; an alias leads here again, under another name."""
        place = _place(self.path, last[0])
        found = repeated(self._said(name, *first), self._said(name, *last)) if place not in self.repeated else None
        if found is not None:
            self.repeated[place] = found

    def _said(self, name: str, key: Any, node: Any) -> Observed:
        text = node.value if isinstance(node.value, str) else ""
        plain = self.value(name, node, key, record=False)
        return Observed.written(name, plain, True, text, _place(self.path, key))

    def _key(self, node: Any) -> str:
        if not isinstance(node.value, str):
            raise _BadYaml("a key is a list or a mapping (a `{{ }}` that was not filled in?)", node)
        return node.value

    def _scalar(self, node: Any) -> Any:
        try:
            if node.style is None and _tag(node) in {"", *_SCALARS}:
                return plain_value(node.value, wide_floats=self.omegaconf)
            if _tag(node) in {_TAG + "int", _TAG + "float"} and _explicit(node):
                return as_int(node.value) if _tag(node).endswith("int") else as_float(node.value)
        except ValueError:
            message = f"`{node.value[:40]}` looks like a number but is not"
            raise _BadYaml(message, node) from None
        return node.value

    def _check_tag(self, node: Any) -> None:
        tag = _tag(node)
        if tag.startswith("!") and len(tag) > 1:
            message = f"the tag `{tag}` is known to no loader of the stack"
            raise _BadYaml(message, node)
        if tag.startswith("tag:") and tag not in _KNOWN_TAGS:
            message = f"the tag `{tag.removeprefix(_TAG)}` is refused by safe loaders"
            raise _BadYaml(message, node)

    def _note(self, name: str, value: Any, key: Any, node: Any) -> None:
        text = node.value if isinstance(node.value, str) else ""
        known = not (self.omegaconf and isinstance(value, str) and "${" in value)
        self.settings[name] = secured(Observed.written(name, value, known, text, _place(self.path, key)))


def _tag(node: Any) -> str:
    return str(node.tag or "")


def _explicit(node: Any) -> bool:
    """Whether the tag stands in the file (`!!float 1`), as against resolved from the text."""
    return bool(node.end_mark.index - node.start_mark.index != len(node.value))


def _is_mapping(node: Any) -> bool:
    return bool(node.id == "mapping")


def _is_merge(key: Any) -> bool:
    return bool(key.value == "<<" and key.style is None)


def _broken(path: str, text: str, exc: Any) -> BrokenFile:
    """Put ruamel's error in one sentence, with the place."""
    mark = exc.problem_mark or exc.context_mark
    if mark is None:
        return BrokenFile(Place(path), _sentence(exc.problem or exc.context))
    place = Place(path, mark.line + 1, mark.column + 1)
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    if "\t" in line[: len(line) - len(line.lstrip())] or line[mark.column : mark.column + 1] == "\t":
        return BrokenFile(place, "there is a tab where YAML allows only spaces")
    if "single document" in str(exc.context) or "but found another document" in str(exc.problem):
        return BrokenFile(place, "it has more than one document (`---`)")
    return BrokenFile(place, _sentence(exc.problem or exc.context))


def _sentence(problem: Any) -> str:
    words = str(problem).strip().splitlines()
    return words[0].rstrip(".:") if words else "it is not YAML"


def _unreadable(path: str, text: str, exc: Exception) -> BrokenFile:
    """Name a character that YAML forbids, or something that ruamel has no mark for."""
    odd = re.search(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text)
    if odd is None:
        return BrokenFile(Place(path), _sentence(exc))
    line = text.count("\n", 0, odd.start()) + 1
    column = odd.start() - text.rfind("\n", 0, odd.start())
    message = f"the control character U+{ord(odd.group()):04X} stands in it"
    return BrokenFile(Place(path, line, column), message)

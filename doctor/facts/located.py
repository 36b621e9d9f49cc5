"""Configuration files as dotted settings, each with the line and column where it is written.

`load_yaml` gives the values that PyYAML's `safe_load` gives (or OmegaConf's loader), `load_json` those of
Python's `json`. Neither raises for a bad file: `broken` says in one sentence what is wrong with it and where.
Files of more than `LIMIT_BYTES` are refused unread. Dates stay text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from doctor.core.record import record
from doctor.facts._files import LIMIT_BYTES, read_text
from doctor.facts.base import BrokenFile, Place, Setting, Settings

__all__ = ["LIMIT_BYTES", "Located", "load_json", "load_yaml", "read_text", "settings_of"]


@record
class Located:
    """A configuration file, read.

    Args:
        path: as it was opened.
        settings: leaves by dotted name. A list is one leaf, and the mappings in it are there as well
            (`stages.0.mode`); an empty mapping is a leaf `{}`. The place is that of the key.
        document: the whole as plain dicts and lists, {} when broken.
        duplicate_keys: dotted name -> line of the second one; the last one wins, as in PyYAML and json.
        broken: why the file cannot be read, else None.

    """

    path: str
    settings: Settings = field(default_factory=dict)
    document: Mapping[str, Any] = field(default_factory=dict)
    duplicate_keys: Mapping[str, int] = field(default_factory=dict)
    broken: BrokenFile | None = None


def load_yaml(path: str, *, omegaconf: bool = False) -> Located:
    """Read a YAML file as accelerate and TRL do (`omegaconf`: as veRL and Trinity-RFT do)."""
    text = read_text(path)
    if isinstance(text, BrokenFile):
        return Located(path, broken=text)
    from doctor.facts._yaml_positions import parse_yaml

    return parse_yaml(text, path, omegaconf=omegaconf)


def load_json(path: str) -> Located:
    """Read a JSON file as `json.load` does: no comments, no trailing commas, no byte order mark."""
    text = read_text(path)
    if isinstance(text, BrokenFile):
        return Located(path, broken=text)
    from doctor.facts._json_positions import parse_json

    return parse_json(text, path)


def settings_of(document: Mapping[str, Any], place: Place | None = None) -> dict[str, Setting]:
    """Dotted settings of a plain mapping that has no positions of its own (a dictionary in a script)."""
    return {name: Setting(name, value, True, "", place) for name, value in _leaves("", document)}


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    inner: list[tuple[Any, Any]] = list(value.items()) if isinstance(value, Mapping) else []
    if name and not inner:
        yield name, value
    if isinstance(value, list):
        inner = [(index, each) for index, each in enumerate(value) if isinstance(each, Mapping)]
    for key, each in inner:
        yield from _leaves(f"{name}.{key}" if name else str(key), each)

"""Reads YAML and JSON with the place of each value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from doctor.base.evidence import Observed, Place
from doctor.base.fact import BrokenFile
from doctor.readers.files.located import Located
from doctor.readers.files.text import LIMIT_BYTES, read_text

__all__ = ["LIMIT_BYTES", "Located", "load_json", "load_yaml", "read_text", "settings_of"]


def load_yaml(path: str, *, omegaconf: bool = False) -> Located:
    """Read a YAML file as accelerate and TRL do (`omegaconf`: as veRL and Trinity-RFT do)."""
    text = read_text(path)
    if isinstance(text, BrokenFile):
        return Located(path, broken=text)
    from doctor.readers.files.yaml_positions import parse_yaml

    return parse_yaml(text, path, omegaconf=omegaconf)


def load_json(path: str) -> Located:
    """Read a JSON file as `json.load` does: no comments, no trailing commas, no byte order mark."""
    text = read_text(path)
    if isinstance(text, BrokenFile):
        return Located(path, broken=text)
    from doctor.readers.files.json_positions import parse_json

    return parse_json(text, path)


def settings_of(document: Mapping[str, Any], place: Place | None = None) -> dict[str, Observed]:
    """Dotted settings of a plain mapping that has no positions of its own (a dictionary in a script)."""
    return {name: Observed.written(name, value, True, "", place) for name, value in _leaves("", document)}


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    inner: list[tuple[Any, Any]] = list(value.items()) if isinstance(value, Mapping) else []
    if name and not inner:
        yield name, value
    if isinstance(value, list):
        inner = [(index, each) for index, each in enumerate(value) if isinstance(each, Mapping)]
    for key, each in inner:
        yield from _leaves(f"{name}.{key}" if name else str(key), each)

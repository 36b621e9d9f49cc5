"""A configuration file with the place of each value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from doctor.base.fact import BrokenFile, Settings
from doctor.base.record import record


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

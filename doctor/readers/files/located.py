"""A configuration file with the place of each value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from doctor.base.evidence import Observed
from doctor.base.fact import BrokenFile, RepeatedKey, Settings
from doctor.base.record import record
from doctor.readers.command.argv import secured


def repeated(first: Observed, last: Observed) -> RepeatedKey | None:
    """The two of a key that stands twice, None where both say the same."""
    if first.value == last.value and type(first.value) is type(last.value):
        return None
    return RepeatedKey(_shown(first), _shown(last))


def _shown(setting: Observed) -> Observed:
    """The setting, without a value that is more than a word: it may hold secrets, and nobody reads it in a report."""
    if not isinstance(setting.value, (Mapping, list)):
        return secured(setting)
    return Observed.written(setting.name, None, False, "", setting.place)


@record
class Located:
    """A configuration file, read.

    Args:
        path: as it was opened.
        settings: leaves by dotted name. A list is one leaf, and the mappings in it are there as well
            (`stages.0.mode`); an empty mapping is a leaf `{}`. The place is that of the key.
        document: the whole as plain dicts and lists, {} when broken.
        repeated_keys: given twice in one mapping with other values; the last one wins, as in PyYAML and json.
        broken: why the file cannot be read, else None.

    """

    path: str
    settings: Settings = field(default_factory=dict)
    document: Mapping[str, Any] = field(default_factory=dict)
    repeated_keys: tuple[RepeatedKey, ...] = ()
    broken: BrokenFile | None = None

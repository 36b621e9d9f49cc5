"""A whole beside the share of one rank: of two sizes one is as many times the other as ranks split a layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from doctor.base.patterns import later

#: settings by which each rank holds only a part of a dimension
#: https://docs.nvidia.com/megatron-core/developer-guide/latest/user-guide/parallelism-guide.html
_SPLITS = later(r"(?i)^(?:\w*(?:tensor|context|sequence|expert)\w*_parallel(?:_size)?|(?:tp|cp|sp|ep)(?:_size)?)$")
#: smaller sizes are heads, groups or rows of a batch, whose ratio is often that of something else
LEAST_SHARE = 32


class Split(NamedTuple):
    """A setting that splits a dimension over so many ranks."""

    setting: str
    size: int


def split_by(one: int, two: int, settings: Mapping[str, object]) -> Split | None:
    """The setting of whose ranks each holds one of two sizes, if the other is the whole.

    Args:
        one: size of a dimension on one side.
        two: size of it on the other.
        settings: name -> value, as logs and context tell them.

    """
    short, long = sorted((one, two))
    if short < LEAST_SHARE or long % short or long == short:
        return None
    for name, value in settings.items():
        last = name.rpartition(".")[2].replace("-", "_")
        text = str(value).strip()
        if _SPLITS.match(last) and text.isdigit() and int(text) == long // short:
            return Split(last, int(text))
    return None

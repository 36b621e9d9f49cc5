"""A whole beside the share of one rank: of two sizes one is as many times the other as ranks split a layer."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
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


_MATRIX = 2  # dimensions
#: a shape as messages write it: `(1024, 2048)`, `torch.Size([4096, 512])`; `batch_size (4)` gives a value
_SHAPE = later(r"(?!\(\d{1,9}\))[(\[](?P<sizes>\d{1,9}(?:, ?\d{1,9}){0,4}),?[)\]]")


class Share(NamedTuple):
    """A whole size, that of one rank, and what splits it."""

    short: int
    long: int
    split: Split


def share_in(message: str, settings: Mapping[str, object]) -> Share | None:
    """The whole and the share that a message tells of: two shapes in it that differ in one dimension alone.

    Args:
        message: of an exception.
        settings: name -> value, as logs and context tell them.

    """
    unequal = unequal_in(message)
    split = split_by(*unequal[0], settings) if len(unequal) == 1 else None
    return Share(min(unequal[0]), max(unequal[0]), split) if split is not None else None


def unequal_in(message: str) -> list[tuple[int, int]]:
    """The sizes in which two shapes differ, where a message tells of two of the same number of dimensions."""
    shapes = _shapes_in(message)
    if len(shapes) != len(("one", "two")) or len(shapes[0]) != len(shapes[1]):
        return []
    return [(one, two) for one, two in zip(*shapes, strict=True) if one != two]


def same_elements(message: str) -> tuple[str, str] | None:
    """The two shapes of a message that hold equally many elements in another layout; None where they do not."""
    shapes = _shapes_in(message)
    if len(shapes) != len(("one", "two")) or shapes[0] == shapes[1] or max(map(len, shapes)) < _MATRIX:
        return None
    if prod(shapes[0]) != prod(shapes[1]) or min(map(max, shapes)) < LEAST_SHARE:
        return None
    return ", ".join(map(str, shapes[0])), ", ".join(map(str, shapes[1]))


def _shapes_in(message: str) -> list[list[int]]:
    return [[int(each) for each in match["sizes"].split(",")] for match in _SHAPE.finditer(message)]


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

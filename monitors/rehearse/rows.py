"""Rows that a trainer draws: odd ones and the longest of its data come first, evaluation sees a few.

A row whose value is missing where nearly all others have one fails in the step that draws it, hours later.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, ClassVar

from doctor.monitors.rehearse import journal
from doctor.monitors.rehearse.settings import settings

#: rows looked at in search of the longest; rows of an evaluation
_LOOKED_AT, _EVALUATED = 2000, 8
#: odd rows that come first, and the share of the rows above which a missing value is no oddity
_ODD, _USUAL = 2, 0.1
#: columns that are decoded when they are read
_MEDIA = ("Image", "Audio", "Video", "Pdf")


class Drawn:
    """How the rows of this process are drawn."""

    longest_first: ClassVar[bool] = False


class LongestFirst:
    """The order of a sampler in which the longest rows have changed places with those that it draws first.

    Args:
        sampler: gives indices; each may come several times in a row, as in TRL's.
        longest: indices of the longest rows, the longest first.

    """

    def __init__(self, sampler: Any, longest: list[int]) -> None:
        self._sampler, self._longest = sampler, longest

    def __len__(self) -> int:
        """As many as before."""
        return len(self._sampler)

    def __getattr__(self, name: str) -> Any:
        """What else the sampler has."""
        return getattr(self._sampler, name)

    def __iter__(self) -> Iterator[int]:
        """The same indices, with the longest first."""
        left = list(self._longest)
        places: dict[int, int] = {}
        for index in self._sampler:
            if left and index not in places:
                place = left.pop(0)
                places.setdefault(index, place)
                places.setdefault(place, index)
            yield places.get(index, index)


@journal.shielded
def longest_first(trainer: Any) -> None:
    """Have the longest rows drawn first, and few rows evaluated."""
    data: Any = getattr(trainer, "train_dataset", None)
    if hasattr(data, "__len__") and hasattr(data, "column_names"):
        longest, odd = _longest(data), _odd(data)
        journal.write("rows", rows=len(data), looked_at=min(len(data), _LOOKED_AT), longest=longest[:1], odd=odd)
        _around_sampler(trainer, [*odd, *(each for each in longest if each not in odd)])
    trainer.eval_dataset = _few(getattr(trainer, "eval_dataset", None), trainer)


def _few(data: Any, trainer: Any) -> Any:
    if isinstance(data, dict):
        return {name: _few(each, trainer) for name, each in data.items()}
    if not hasattr(data, "select") or not hasattr(data, "__len__"):
        return data
    generations = getattr(trainer.args, "num_generations", 1) or 1
    wanted = max(_EVALUATED, getattr(trainer.args, "per_device_eval_batch_size", 1) * 2 // max(1, generations))
    return data.select(range(wanted)) if len(data) > wanted else data


def _readable(data: Any) -> list[str]:
    """Columns whose values are read without decoding files."""
    kinds = getattr(data, "features", None) or {}
    return [each for each in data.column_names if type(kinds.get(each)).__name__ not in _MEDIA]


def _odd(data: Any) -> list[int]:
    """Indices of a few rows in which a value is missing or empty that nearly all others have, in their own order."""
    count = min(len(data), _LOOKED_AT)
    names = _readable(data)
    columns = data[:count] if names else {}
    found: set[int] = set()
    for name in names:
        lacking = [row for row, value in enumerate(columns[name]) if value is None or value in ("", [])]
        if len(lacking) <= _USUAL * count:
            found.update(lacking)
    return sorted(found)[:_ODD]


def _longest(data: Any) -> list[int]:
    """Indices of the longest rows among those looked at, the longest first: half of them, at most a handful."""
    count = min(len(data), _LOOKED_AT)
    names = [each for each in _readable(data) if each not in ("attention_mask", "labels")]
    columns = data[:count] if names else {}
    sizes = [sum(_size(columns[name][row]) for name in names) for row in range(count)]
    wanted = 4 if settings().tiny else 64  # at real scale whole batches are of the longest
    return sorted(range(count), key=sizes.__getitem__, reverse=True)[: max(1, min(wanted, count // 2))]


def _size(value: Any) -> int:
    """Characters or numbers that a value of a row holds."""
    if isinstance(value, (str, bytes)):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    if isinstance(value, list):
        return len(value) if value and isinstance(value[0], (int, float)) else sum(map(_size, value))
    return 1


def _around_sampler(trainer: Any, longest: list[int]) -> None:
    original = getattr(trainer, "_get_train_sampler", None)
    if original is None or not longest:
        return

    @functools.wraps(original)
    def sampler(*args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        ours = None if made is None else _as_sampler(made, longest)
        return made if ours is None else ours

    Drawn.longest_first = True
    trainer._get_train_sampler = sampler  # noqa: SLF001 - the one place where samplers are made


@journal.shielded
def _as_sampler(made: Any, longest: list[int]) -> Any:
    from torch.utils.data import Sampler

    class Longest(LongestFirst, Sampler):  # type: ignore[type-arg, misc, unused-ignore]
        """The same, as torch's loaders want it."""

    return Longest(made, longest)

"""Sizes of which one does not divide the other, as libraries word it, and the settings that they come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from doctor.base.patterns import later

_NUMBER = r"(?<![\w.])\(?(?P<{name}>\d{{1,9}})\)?(?![\w.]*\d)"
PREDICATE = later(r"(?i)\b(?:not|must be|should be|to be)\b[^.\n]{0,20}\b(?:a )?(?:multiple of|divisible by)\b")
_MUST = r"\b(?:not|must be|should be|has to be|needs to be)\b"
_UNEVEN = later(
    rf"(?i){_NUMBER.format(name='whole')}[^.\n]{{0,30}}?{_MUST}[^.\n]{{0,20}}?"
    rf"\b(?:a )?(?:multiple of|divisible by)\b[^.\n]{{0,60}}?{_NUMBER.format(name='part')}"
)
#: what is divided among the ranks of a group, by torch's own words
#: (https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp)
_BY_RANKS = later(
    r"(?i)\binput tensor must be the same size as output size times world size"
    r"|\boutput tensor size must be equal to world_size times input tensor size"
)
#: how many share it, and what is counted
_RANKS = later(r"(?i)^(?:tp|dp|sp|cp|ep|pp|tp_size|dp_size|world_size|nproc_per_node)$|parallel_size$")
_COUNTS = later(r"(?i)batch|requests|seqs|tokens|samples|prompts|length|capacity")
_PARTS = later(r"[a-z]{4,}")
_EVERYDAY = frozenset({"size", "sizes", "data", "dict", "must", "multiple", "provided", "divisible", "number", "value"})


class Uneven(NamedTuple):
    """What was to be divided, and by what; both empty where the words give no numbers."""

    whole: str
    part: str


def read(message: str) -> Uneven | None:
    """The two sizes of a message; None where it is about another thing, or they divide after all."""
    match = _UNEVEN.search(message)
    if match is not None:
        whole, part = int(match["whole"]), int(match["part"])
        return Uneven(match["whole"], match["part"]) if part and whole % part else None
    return Uneven("", "") if _BY_RANKS.search(message) else None


def settings(whole: str, part: str, message: str, made: Mapping[str, object]) -> tuple[str, ...]:
    """Settings that hold one of the sizes and share a word with the message; of ranks, the counts that leave a rest."""
    numbers = {
        name: value
        for name, value in made.items()
        if isinstance(value, int) and not isinstance(value, bool) and value > 0 and not _has_longer(name, made)
    }
    if not part:
        ranks = [(name, value) for name, value in numbers.items() if _RANKS.search(_last(name)) and value > 1]
        odd = [
            name
            for name, value in numbers.items()
            if _COUNTS.search(_last(name)) and any(value % size for _, size in ranks)
        ]
        return tuple(f"{name}={numbers[name]}" for name in (*odd, *(name for name, _ in ranks if odd)))
    words = set(_PARTS.findall(message.lower())) - _EVERYDAY
    words |= {"batch"} if any("batch" in each for each in words) else set()
    near = [
        name
        for name, value in numbers.items()
        if str(value) in {whole, part} and _is_meant(_last(name).replace("_", ""), words)
    ]
    return tuple(f"{name}={numbers[name]}" for name in near)


def _is_meant(name: str, words: set[str]) -> bool:
    return any(word in name for word in words)


def _last(name: str) -> str:
    return name.rpartition(".")[2].lower().replace("-", "_")


def _has_longer(name: str, made: Mapping[str, object]) -> bool:
    return "." not in name and any(other.endswith(f".{name}") for other in made)

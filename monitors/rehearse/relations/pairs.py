"""Whether the two answers that a loss of pairs compares answer the same prompt.

Such a loss makes the tokens of one answer more likely and those of the other less, and its log-sigmoid is given one
margin a pair. The prompt is what stands in front of the first token that a row trains.
https://arxiv.org/abs/2305.18290 (equation 7)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Optional

from doctor.monitors.rehearse.relations import margins, ratios

if TYPE_CHECKING:
    from doctor.monitors.rehearse.relations.forwards import Forward

_LEAST_PAIRS = 2
_Prompt = tuple[int, ...]


def of_forwards(forwards: Sequence[Forward]) -> Optional[dict[str, int]]:
    """Pairs, and how many of their better answers have a prompt that no worse one has; None without pairs."""
    better: list[_Prompt] = []
    worse: list[_Prompt] = []
    for seen in forwards:
        if seen.target is None or not seen.causal:
            continue
        for row, hard in enumerate(seen.target >= 0):
            signs = set(seen.weight[row][hard].sign().tolist())
            if len(signs) == 1:
                (better if signs == {1.0} else worse).append(_prompt(seen, row, hard))
    count = len(better)
    if ratios.Looked.generated or not _LEAST_PAIRS <= count == len(worse) == margins.Given.pairs:
        return None
    return {"pairs": count, "apart": sum(not _among(each, worse) for each in better)}


def _prompt(seen: Forward, row: int, hard: Any) -> _Prompt:
    end = seen.first + int(hard.nonzero()[0]) + 1
    ids = seen.ids[row, :end]
    return tuple((ids if seen.mask is None else ids[seen.mask[row, :end] != 0]).tolist())


def _among(prompt: _Prompt, others: Iterable[_Prompt]) -> bool:
    """Whether it is one of these, if need be cut at its beginning: rows that are too long are."""
    return any(_ends_alike(prompt, each) for each in others)


def _ends_alike(one: _Prompt, other: _Prompt) -> bool:
    size = min(len(one), len(other))
    return size > 0 and one[-size:] == other[-size:]

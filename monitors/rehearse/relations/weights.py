"""Figures of what the loss of a first step trains: which places, which tokens, and how the rows are weighed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from doctor.monitors.rehearse.relations.forwards import Forward

#: what a sum of weights may be beside 0, as a share of the sum of their sizes: over the answers of one prompt, and over
#: others, where weights that are centred over the whole batch must not look so by chance
_CENTRED, _CENTRED_ACROSS = 0.02, 2e-4
#: share of the rows whose weights must be other ones: of rewards that are 0 and 1 many sums are 0
_UNLIKE = 0.75
#: weights that are the same, but for rounding
_ALIKE = 1e-3
#: groups and answers of one that must be there for their sums to tell anything
_LEAST_GROUPS, _LEAST_OF_GROUP = 2, 2


def of_forward(seen: Forward) -> dict[str, Any]:
    """Places and tokens that one forward trains.

    `own`, `next` and `after` count the tokens trained at a place that are its own, the next one and the one after it;
    `padded` are places in the padding whose target is padding too, `blind` rows of which nothing but padding counts.
    """
    width = seen.ids.shape[1]
    found: dict[str, Any] = {
        "rows": len(seen.ids), "places": int(seen.active.numel()), "counted": int(seen.active.sum()),
        "causal": seen.causal, "logits": seen.target is not None,
    }  # fmt: skip
    if seen.mask is not None:
        found.update(_of_padding(seen, width))
    if seen.target is None:
        return found
    hard = seen.target >= 0
    for name, ahead in (("own", 0), ("next", 1), ("after", 2)):
        ids = seen.ids[:, seen.first + ahead :]
        there = min(ids.shape[1], seen.target.shape[1])
        equal = (seen.target[:, :there] == ids[:, :there]) & hard[:, :there]
        found[name] = int(equal.sum())
    return {**found, "tokens": int(hard.sum()), "behind": _behind(seen, hard), **_smallest(seen, hard)}


def _behind(seen: Forward, hard: Any) -> int:
    """Places that train padding behind the end of an answer or behind padding, whatever the attention mask says."""
    if seen.pad is None:
        return 0
    own = seen.ids[:, seen.first : -1]
    following, there = seen.ids[:, seen.first + 1 :], own.shape[1]
    over = own == seen.pad
    for each in seen.ends:
        over = over | (own == each)
    trained = hard[:, :there] & (seen.target[:, :there] == following)
    return int((trained & over & (following == seen.pad)).sum())


def _smallest(seen: Forward, hard: Any) -> dict[str, Any]:
    """The smallest weight, and whether it is that of every row, whatever number of tokens a row trains."""
    counts = hard.sum(1)
    rows = counts > 0
    if not bool(rows.any()):
        return {}
    least = seen.weight.masked_fill(~hard, float("inf")).amin(1)[rows]
    total = float(seen.weight[hard].sum())
    alike = bool((least.max() - least.min()).abs() <= _ALIKE * least.min().abs())
    return {"least": float(least.min()), "alike": alike and len(set(counts[rows].tolist())) > 1, "total": total}


def _of_padding(seen: Forward, width: int) -> dict[str, int]:
    real = seen.mask[:, seen.first :] != 0
    following = real.roll(-1, 1)
    following[:, -1] = False
    trained = seen.active if seen.target is None else seen.target >= 0  # a penalty of all logits trains no token
    padding = trained & ~real & ~following
    rows = (seen.active & ~real).any(1) & ~(seen.active & real).any(1)
    return {"padded": int(padding.sum()), "blind": int(rows.sum()), "width": width, "masked": int((~real).sum())}


def of_groups(forwards: Sequence[Forward]) -> Optional[dict[str, Any]]:
    """Whether the weights of answers to one prompt cancel, or those of answers to several prompts do.

    An advantage is a reward less the mean of its group, so that the weights of a group's answers sum to 0.
    Rows of one prompt are known by their tokens in front of the first one that counts.
    https://arxiv.org/abs/2402.03300
    None where there are no such groups, or all weights cancel only together.
    """
    for seen in forwards:
        if seen.target is None or not bool((seen.weight < 0).any()) or not bool((seen.weight > 0).any()):
            continue
        groups = prompts(seen)
        sizes = {len(each) for each in groups}
        if len(groups) < _LEAST_GROUPS or len(sizes) != 1 or min(sizes) < _LEAST_OF_GROUP:
            continue
        size, rows = min(sizes), len(seen.ids)
        both = (_mean(seen), seen.weight.sum(1))  # divided by the tokens of all answers, or by those of each
        if any(_centred(weight, groups, _CENTRED) for weight in both) or not _unlike(both[0]):
            continue
        for name, across in _others(rows, size, len(groups)).items():
            if any(_centred(weight, across, _CENTRED_ACROSS) for weight in both) and _as_sets(across) != _as_sets(
                groups
            ):
                return {"groups": len(groups), "size": size, "across": name}
    return None


def _mean(seen: Forward) -> Any:
    return seen.weight.sum(1) / (seen.target >= 0).sum(1).clamp(min=1)


def prompts(seen: Forward) -> list[list[int]]:
    """Rows of the same prompt."""
    found: dict[tuple[int, ...], list[int]] = {}
    for at, (ids, hard) in enumerate(zip(seen.ids, seen.target >= 0)):  # noqa: B905 - Python 3.9
        places = hard.nonzero()
        if not len(places):
            return []
        end = seen.first + int(places[0]) + 1
        real = ids[:end] if seen.mask is None else ids[:end][seen.mask[at, :end] != 0]
        found.setdefault(tuple(real.tolist()), []).append(at)
    return list(found.values())


def _others(rows: int, size: int, groups: int) -> dict[str, list[list[int]]]:
    """Other ways to divide the rows: neighbours, and rows at equal distances."""
    neighbours = [list(range(at, at + size)) for at in range(0, rows, size)]
    return {
        "neighbours": neighbours,
        "of_groups": [list(range(at, at + groups)) for at in range(0, rows, groups)],
        "apart": [list(range(at, rows, groups)) for at in range(groups)],
        "apart_by_size": [list(range(at, rows, size)) for at in range(size)],
    }


def _as_sets(groups: Sequence[Sequence[int]]) -> set[frozenset[int]]:
    return {frozenset(each) for each in groups}


def _unlike(weight: Any) -> bool:
    """Whether most rows have a weight that no other row has, whatever its sign."""
    scale = float(weight.abs().max())
    found = {round(abs(float(each)) / scale, 3) for each in weight}
    return len(found) >= _UNLIKE * len(weight)


def _centred(weight: Any, groups: Sequence[Sequence[int]], tolerance: float) -> bool:
    """Whether the weights of each group cancel, and none of them is of one answer or of none that counts."""
    if any(len(each) < _LEAST_OF_GROUP for each in groups):
        return False
    sums = [(float(weight[each].sum()), float(weight[each].abs().sum())) for each in groups]
    return all(abs(total) <= tolerance * size for total, size in sums) and sum(size > 0 for _, size in sums) > 1

"""Whether the answers that earned more become more likely than others to the same prompt, as the loss has it.

What was earned is looked for where the step is made: a local variable that is called rewards or scores, with a number
a row. What the loss does is the weight of a row's tokens in it, as the gradients show. Nothing is said where no such
variable is in sight, and several are compared by the one that fits best: one may be a part of the reward.
https://arxiv.org/abs/2402.03300 (advantages of a group rise with its rewards)
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Optional

from doctor.monitors.rehearse.relations import extents, ratios, weights

if TYPE_CHECKING:
    from doctor.monitors.rehearse.relations.forwards import Forward

_REWARDS = re.compile(r"(?i)(?:\w+_)?(?:rewards?|scores?)")
_LEAST_ROWS = 4
#: rewards that differ by less, and weights that differ by less than this share of the largest, are the same
_SAME, _ALIKE = 1e-6, 1e-3
_OURS = "doctor."
_INSTALLED = "-packages"


def of_forwards(forwards: Sequence[Forward]) -> Optional[dict[str, Any]]:
    """How the weights of generated answers follow what they earned; None where it cannot be told.

    `alike` where all rows have one weight, `pairs` of answers to one prompt that earned differently, and how many of
    them `follow`: the better one's weight is not below the other's.
    """
    seen = forwards[0]
    if len(forwards) != 1 or seen.target is None or not ratios.Looked.generated or len(seen.ids) < _LEAST_ROWS:
        return None
    if not extents.in_order(seen):
        return None
    hard = seen.target >= 0
    sums = seen.weight.sum(1)
    both = [each.tolist() for each in (sums, sums / hard.sum(1).clamp(min=1))]
    groups = weights.prompts(seen)
    found = []
    for name, earned in _earned(len(seen.ids)):
        pairs = [(a, b) for rows in groups for a in rows for b in rows if earned[a] > earned[b] + _SAME]
        follow = max(sum(each[a] >= each[b] for a, b in pairs) for each in both)
        found.append({"name": name, "pairs": len(pairs), "follow": follow})
    if not found:
        return None
    best = max(found, key=lambda each: each["follow"] / max(1, each["pairs"]))
    signed = abs(float(sums.sum()) - 1) > _ALIKE  # a mean over texts that were chosen by their rewards
    return {**best, "rows": len(seen.ids), "alike": signed and any(map(_alike, both))}


def _alike(values: Sequence[float]) -> bool:
    largest = max(map(abs, values))
    return largest > 0 and max(values) - min(values) <= _ALIKE * largest


def _earned(rows: int) -> Iterator[tuple[str, list[float]]]:
    """Rewards that differ, one a row, in the innermost function of the program around this step that has any."""
    frame: Any = sys._getframe()  # noqa: SLF001 - the interpreter has no other name for it
    while frame is not None:
        own = str(frame.f_globals.get("__name__")).startswith(_OURS)
        if not own and _INSTALLED not in frame.f_code.co_filename:
            named = [(str(name), each) for name, each in list(frame.f_locals.items()) if _REWARDS.fullmatch(str(name))]
            there = [(name, values) for name, each in named if (values := _numbers(each, rows))]
            if there:
                yield from ((name, values) for name, values in there if max(values) - min(values) > _SAME)
                return
        frame = frame.f_back


def _numbers(value: Any, rows: int) -> list[float]:
    """A number a row; empty for whatever else it is."""
    torch: Any = sys.modules["torch"]
    if issubclass(type(value), torch.Tensor):
        return value.detach().reshape(-1).float().tolist() if value.numel() == rows else []
    if type(value) in (list, tuple) and len(value) == rows and all(type(each) in (int, float) for each in value):
        return [float(each) for each in value]
    return []

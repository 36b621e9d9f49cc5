"""Lists that a log prints of a group of answers: rewards, advantages, whose prompt each is, which tokens count."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Optional

from doctor.base.patterns import later

#: what a list is of, by the last word of these before it
_KINDS = (
    ("advantages", later(r"(?i)advantages?")),
    ("mask", later(r"(?i)(?:response|loss|completion|action)_masks?")),
    ("rewards", later(r"(?i)(?<!level_)\b(?:raw_)?(?:rewards?|scores?)")),
    ("prompts", later(r"(?i)\b(?:problem|prompt|question|uid|group)(?:_?ids?|s)\b")),
)
_BEFORE, _NEAR, _LONGEST, _MOST_LINES = 40, 6, 4_000, 400


class Group(NamedTuple):
    """Advantages with what is printed next to them, of one length; other lists are empty where there are none.

    Args:
        advantages, rewards: one an answer.
        prompts: whose answer each is.
        digits: behind the point of the advantage that shows most of them.

    """

    advantages: Sequence[float]
    rewards: Sequence[float]
    prompts: Sequence[str]
    digits: int

    @property
    def rounding(self) -> float:
        """What rounding may leave of the sum."""
        return 0.5 * len(self.advantages) * 10.0**-self.digits + 1e-6


class _Printed(NamedTuple):
    kind: str
    values: Sequence[Any]
    text: str
    line: int


def groups(text: str) -> Iterator[Group]:
    """Every list of advantages, with the nearest lists of the same length in the lines around it."""
    told = list(_printed(text))
    for each in told:
        if each.kind != "advantages" or not _numbers(each.values):
            continue
        rewards = _nearest(told, each, "rewards")
        prompts = _nearest(told, each, "prompts")
        digits = max((len(part.partition(".")[2]) for part in each.text.split(",")), default=0)
        yield Group(
            [float(value) for value in each.values],
            [float(value) for value in rewards] if _numbers(rewards) else [],
            [str(value) for value in prompts],
            min(digits, 12),
        )


def rewards_without_a_token(text: str) -> Optional[tuple[int, float]]:
    """The first answer, from 1, whose mask counts no token and whose reward is not 0, with that reward."""
    told = list(_printed(text))
    for each in told:
        rows = each.values if each.kind == "mask" else ()
        if not rows or not all(isinstance(row, list) and _numbers(row) for row in rows):
            continue
        rewards = _nearest(told, each, "rewards")
        for number, (row, reward) in enumerate(zip(rows, rewards, strict=False), 1):
            if row and not any(row) and isinstance(reward, (int, float)) and reward != 0:
                return number, float(reward)
    return None


def _printed(text: str) -> Iterator[_Printed]:
    for number, whole in enumerate(text.splitlines()[:_MOST_LINES]):
        start, line = 0, whole[:_LONGEST]
        while (opening := line.find("[", start)) >= 0:
            closing = _closing(line, opening)
            if closing < 0:
                break
            before = line[max(start, opening - _BEFORE) : opening]
            kind = _kind(before)
            values = _list(line[opening : closing + 1]) if kind else None
            if values:
                yield _Printed(kind, values, line[opening + 1 : closing], number)
            start = closing + 1 if values is not None else opening + 1


def _kind(before: str) -> str:
    found = [(match.end(), kind) for kind, pattern in _KINDS for match in pattern.finditer(before)]
    return max(found)[1] if found else ""


def _closing(line: str, opening: int) -> int:
    depth = 0
    for place in range(opening, len(line)):
        depth += (line[place] == "[") - (line[place] == "]")
        if not depth:
            return place
    return -1


def _list(text: str) -> Optional[list[Any]]:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, list) else None


def _numbers(values: Sequence[Any]) -> bool:
    plain = (isinstance(each, (int, float)) and not isinstance(each, bool) and math.isfinite(each) for each in values)
    return bool(values) and all(plain)


def _nearest(told: Sequence[_Printed], of: _Printed, kind: str) -> Sequence[Any]:
    """The nearest list of a kind that has as many entries, those before it first."""
    near = [
        each
        for each in told
        if each.kind == kind and len(each.values) == len(of.values) and abs(each.line - of.line) <= _NEAR
    ]
    near.sort(key=lambda each: (abs(each.line - of.line), each.line > of.line))
    return near[0].values if near else []

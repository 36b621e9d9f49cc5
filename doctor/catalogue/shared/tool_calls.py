"""Calls of tools beside the reward: answers that give tools up, whichever way the reward goes with it.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Optional

from doctor.base.stats import Window
from doctor.catalogue.columns import Stretch
from doctor.catalogue.series import Point

#: the canonical metric: calls an answer
CALLS = "tools/call_frequency"

#: veRL's count of messages of a conversation: 2 without a call, and 2 more for each round of calls
#: (https://github.com/verl-project/verl/blob/main/verl/experimental/agent_loop/tool_agent_loop.py)
TURNS, ALONE, A_ROUND = "num_turns/mean", 2.0, 2.0

#: calls an answer at first, below which there was little to give up
AT_FIRST = 0.5


class GivenUp(NamedTuple):
    """Medians of the first full windows and of the present ones: calls an answer, and the reward."""

    calls_before: float
    calls: float
    reward_before: float
    reward: float

    def words(self) -> dict[str, Any]:
        """Values of a message."""
        return {
            "first": f"{self.calls_before:.2g}", "value": f"{self.calls:.2g}",
            "before": f"{self.reward_before:.3g}", "reward": f"{self.reward:.3g}",
        }  # fmt: skip


class ToolCalls:
    """Follows `CALLS` and `reward`; of `TURNS` it takes the rounds of calls.

    Args:
        steps: logged steps of a median.
        left: share of the first calls that is left where tools were given up.
        name: of the metric, one of both.

    """

    def __init__(self, steps: int, left: float, name: str = CALLS) -> None:
        self._name = name
        self._calls, self._rewards = Window(steps), Window(steps)
        self._left = left
        self._first: Optional[tuple[float, float]] = None

    def feed(self, point: Point) -> Optional[GivenUp]:
        """Take one of both in; gives how both stand while the tools are given up."""
        if not math.isfinite(point.value):
            return None
        if point.name == self._name:
            self._calls.push(self._of(point.value))
        elif self._calls:  # as in `calm`: rewards before the first calls are not kept
            self._rewards.push(point.value)
        if not (self._calls.full and self._rewards.full):
            return None
        calls, reward = self._calls.median, self._rewards.median
        if self._first is None:
            self._first = calls, reward
        before, reward_before = self._first
        if before < AT_FIRST or calls > self._left * before:
            return None
        return GivenUp(before, calls, reward_before, reward)

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that tell of no calls, or in which tools cannot be given up."""
        calls, rewards = stretch[self._name], stretch["reward"]
        if not (self._calls or calls.values):
            return True  # nothing is to be judged, and nothing is kept
        if self._first is None:
            return False
        before = self._first[0]
        if before < AT_FIRST:
            return True  # as after the first windows: there was little to give up
        if not (calls.finite and rewards.finite):
            return False
        told = [self._of(each) for each in calls.values]
        if min([*told, self._calls.low]) <= self._left * before:
            return False
        self._calls.extend(told)
        self._rewards.extend(rewards.values)
        return True

    def _of(self, value: float) -> float:
        """Calls an answer, from a value of the metric."""
        return (value - ALONE) / A_ROUND if self._name == TURNS else value

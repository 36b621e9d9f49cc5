"""What an oracle answers: whether an invariant holds, the number that decides it, and the limit that it has.

Python 3.9 and the standard library: oracles run inside trainings too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Mapping


class State(str, Enum):
    """How an invariant stands. Unseen is no form of holds: what was handed over did not suffice to judge it."""

    HOLDS = "holds"
    DOUBTFUL = "doubtful"
    BROKEN = "broken"
    UNSEEN = "unseen"


HOLDS, DOUBTFUL, BROKEN, UNSEEN = State.HOLDS, State.DOUBTFUL, State.BROKEN, State.UNSEEN


@dataclass(frozen=True)
class Verdict:
    """The answer of one oracle.

    Args:
        oracle: name of the function that gave it, with `-` for `_`.
        state: whether the invariant holds.
        value: the number that decides; NaN where nothing could be measured.
        limit: beyond which the invariant does not hold; each oracle says of which side.
        reason: the fact in one English sentence, with its numbers.
        details: further figures by name.

    A verdict has no truth value, for "unseen" is neither: ask `ok` or `state`.
    """

    oracle: str
    state: State
    value: float = math.nan
    limit: float = math.nan
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the invariant was seen to hold."""
        return self.state is HOLDS

    def __bool__(self) -> bool:
        """Refuse: `if verdict:` would take "unseen" for one of the two.

        Raises:
            TypeError: always.

        """
        raise TypeError("a verdict is neither true nor false: ask `.ok` or `.state`")

    def as_dict(self) -> dict[str, Any]:
        """The verdict as JSON-able data: what is not finite stands as None."""
        return {
            "oracle": self.oracle, "state": self.state.value, "value": _plain(self.value), "limit": _plain(self.limit),
            "reason": self.reason, "details": {name: _plain(value) for name, value in self.details.items()},
        }  # fmt: skip


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def unseen(oracle: str, reason: str, **details: Any) -> Verdict:
    """The verdict of an oracle that could not judge."""
    return Verdict(oracle, UNSEEN, reason=reason, details=details)

"""What a rollout engine can be asked, whatever engine it is.

Runs inside the patient: Python 3.9, the standard library.
"""

from __future__ import annotations

import time
from typing import Any, Mapping, NamedTuple, Optional, Sequence

#: log probabilities of one sequence, token by token; None for the first one, and where the engine gives none
Logps = list[Optional[float]]

#: the reason of what was not answered while the run waited
LATE = "no answer in time"

#: most probable tokens that an engine is asked for at each place of a continuation
TOP = 5


class CannotAsk(Exception):  # noqa: N818 - no error: engines differ in what they answer
    """The engine cannot be asked this, or did not answer; the message is a reason in a few words."""


class Continued(NamedTuple):
    """What an engine goes on with: the ids that it took, and at each place id -> log probability of the likeliest."""

    ids: list[int]
    places: list[dict[int, float]]

    @property
    def logps(self) -> Logps:
        """Log probabilities of the ids taken."""
        return [place.get(each) for each, place in zip(self.ids, self.places)]  # noqa: B905 - Python 3.9


class Engine:
    """An engine that can be asked nothing; each kind overrides what it can answer.

    Attributes:
        name: for the words, "vLLM at http://localhost:8000".
        inside: whether it works in this process, so that asking it is waiting for it.
        precision: of its weights, "bfloat16"; None where it does not tell.
        longest: tokens of prompt and answer; None where it does not tell.
        adapter: name under which it serves the adapter that is trained; None where weights are merged or there is none.
        alone: whether it is to be asked one question after the other, so that each meets the same others in a batch.
        until_s: of the monotonic clock, after which it may not be asked any more; None: at any time.

    """

    name = "engine"
    inside = False
    precision: Optional[str] = None
    longest: Optional[int] = None
    adapter: Optional[str] = None
    alone = False
    until_s: Optional[float] = None

    def left_s(self) -> Optional[float]:
        """Seconds in which it may still be asked; None: any.

        Raises:
            CannotAsk: none are left.

        """
        left = None if self.until_s is None else self.until_s - time.monotonic()
        if left is not None and left <= 0.0:
            raise CannotAsk(LATE)
        return left

    def open(self) -> None:
        """Learn what it is; asked once, before anything else.

        Raises:
            CannotAsk: it does not answer.

        """

    def score(self, sequences: Sequence[Sequence[int]], *, base: bool = False) -> list[Logps]:
        """Log probabilities of given tokens, by a prefill that reads no cache.

        Args:
            sequences: token ids.
            base: of the model without the adapter.

        Raises:
            CannotAsk: it cannot be asked so.

        """
        raise CannotAsk("the engine scores no given tokens")

    def go_on(self, prompts: Sequence[Sequence[int]], tokens: int, *, salt: Optional[str] = None) -> list[Continued]:
        """Greedy continuations.

        Args:
            prompts: token ids.
            tokens: how many, whatever the model takes for an end.
            salt: what separates the prefix cache of this request from all others; None: the cache as rollouts use it.

        Raises:
            CannotAsk: it cannot be asked so.

        """
        raise CannotAsk("the engine gives no log probabilities")

    def version(self) -> Optional[str]:
        """The engine's own word on the version of its weights; None where it has none."""
        return None

    def tensors(self) -> Mapping[str, Any]:
        """The engine's weights by its own names.

        Raises:
            CannotAsk: they are out of reach.

        """
        raise CannotAsk("the engine's weights are out of reach")

    def values(self, name: str, count: int) -> Any:
        """The first values of a weight by the name of a checkpoint, flattened.

        Raises:
            CannotAsk: they are out of reach.

        """
        raise CannotAsk("the engine's weights are out of reach")

    def digests(self) -> Mapping[str, str]:
        """SHA-256 of each weight by the engine's own names.

        Raises:
            CannotAsk: it gives none.

        """
        raise CannotAsk("the engine gives no digests")

"""One round of questions: what engine and policy said, and what could not be asked.

Runs inside the patient: Python 3.9, the standard library.
"""

from __future__ import annotations

import binascii
import os
from dataclasses import dataclass, field
from typing import Any, Callable, Optional, TypeVar

from doctor.monitors.witness.asked import CannotAsk, Continued, Engine, Logps
from doctor.monitors.witness.sequences import ANSWER_TOKENS

Answer = TypeVar("Answer")


@dataclass
class Asked:
    """What the engine said in one round; None: it was not asked, or cannot be.

    Args:
        scored: log probabilities of the fixed sequences, by a prefill.
        again: the same asked once more, in the first round: the engine's own noise.
        base: of the model without the adapter.
        plain: greedy continuations of the beginnings, with the caches as rollouts have them.
        salted: the same with a cache of their own.
        refilled: log probabilities of beginnings and salted continuations, by a prefill.
        version: the engine's word on its weights.
        unseen: what was not asked -> why.

    """

    scored: Optional[list[Logps]] = None
    again: Optional[list[Logps]] = None
    base: Optional[list[Logps]] = None
    plain: Optional[list[Continued]] = None
    salted: Optional[list[Continued]] = None
    refilled: Optional[list[Logps]] = None
    version: Optional[str] = None
    unseen: dict[str, str] = field(default_factory=dict)

    def take(self, what: str, question: Callable[[], Answer]) -> Optional[Answer]:
        """The answer to a question; None where it cannot be asked, which is noted."""
        try:
            return question()
        except CannotAsk as reason:
            self.unseen[what] = str(reason)
            return None


@dataclass
class Fixed:
    """What is asked about in every round: `prompts`, and `sequences` that go on behind them once an engine has."""

    prompts: list[list[int]]
    sequences: list[list[int]] = field(default_factory=list)

    @property
    def answers(self) -> list[list[float]]:
        """1 where a token is of an answer, or everywhere where there is none."""
        size = len(self.prompts[0])
        alone = len(self.sequences[0]) == size
        return [[float(alone or at >= size) for at in range(len(each))] for each in self.sequences]


def ask(engine: Engine, fixed: Fixed, *, adapter: bool, noise: bool) -> Asked:
    """Ask an engine all that it answers; what it does not is noted.

    Args:
        engine: to ask.
        fixed: what to ask about; its sequences are completed by the first answer.
        adapter: whether the model without its adapter is worth asking.
        noise: whether the engine's own noise is still to be measured.

    """
    told = Asked()
    told.plain = told.take("caches", lambda: engine.go_on(fixed.prompts, ANSWER_TOKENS))
    if not fixed.sequences:
        fixed.sequences = _sequences(fixed.prompts, told.plain)
    if told.plain is not None:
        salt = binascii.hexlify(os.urandom(8)).decode()
        told.salted = told.take("caches", lambda: engine.go_on(fixed.prompts, ANSWER_TOKENS, salt=salt))
    continued = told.salted or told.plain
    wanted = list(fixed.sequences)
    if continued is not None:
        wanted += _sequences(fixed.prompts, continued)
    scored = told.take("agreement", lambda: engine.score(wanted))
    if scored is not None:
        told.scored = scored[: len(fixed.sequences)]
        told.refilled = scored[len(fixed.sequences) :] or None
        told.again = told.take("noise", lambda: engine.score(fixed.sequences)) if noise else None
        if adapter and engine.adapter is not None:
            told.base = told.take("adapter", lambda: engine.score(fixed.sequences, base=True))
    told.version = told.take("version", engine.version)
    return told


def _sequences(prompts: list[list[int]], continued: Optional[list[Continued]]) -> list[list[int]]:
    if continued is None:
        return [list(each) for each in prompts]
    shortest = min(len(each.ids) for each in continued)
    return [[*prompt, *each.ids[:shortest]] for prompt, each in zip(prompts, continued)]  # noqa: B905 - Python 3.9


@dataclass
class Round:
    """One round, complete.

    Args:
        step: optimizer steps made.
        pushes: how often weights were pushed.
        asked: what the engine said.
        trained: what the policy says of the fixed sequences; None where it lies in parts and was not asked.
        base: what it says without its adapter; None where it has none.
        continued: what the policy says of beginnings and continuations, where the engine scores nothing itself.

    """

    step: int
    pushes: int
    asked: Asked
    trained: Optional[list[Logps]]
    base: Optional[list[Logps]] = None
    continued: Optional[list[Logps]] = None
    weights: Any = None

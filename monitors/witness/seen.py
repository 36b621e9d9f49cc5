"""One round of questions: what engine and policy said, and what could not be asked.

Runs inside the patient: Python 3.9, the standard library.
"""

from __future__ import annotations

import binascii
import os
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Optional, TypeVar

from doctor.monitors.witness.asked import CannotAsk, Continued, Engine, Logps
from doctor.monitors.witness.sequences import ANSWER_TOKENS

Answer = TypeVar("Answer")
Question = Callable[[Engine, "Fixed", "Asked"], None]

#: what an answer is about, as `unseen` names it
_OF = {"scored": "agreement", "again": "noise", "base": "adapter"}


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
        needed: names of the answers without which scores would be judged wrongly.

    """

    scored: Optional[list[Logps]] = None
    again: Optional[list[Logps]] = None
    base: Optional[list[Logps]] = None
    plain: Optional[list[Continued]] = None
    salted: Optional[list[Continued]] = None
    refilled: Optional[list[Logps]] = None
    version: Optional[str] = None
    unseen: dict[str, str] = field(default_factory=dict)
    needed: tuple[str, ...] = ("scored",)

    @property
    def enough(self) -> bool:
        """Whether what has come can be judged, though more may be on its way."""
        if "agreement" in self.unseen:
            return self.plain is not None
        return all(getattr(self, name) is not None or _OF[name] in self.unseen for name in self.needed)

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


def ask(engine: Engine, fixed: Fixed, told: Asked, *, adapter: bool, noise: bool) -> None:
    """Ask an engine all that it answers; what it does not is noted.

    Rollouts' own caches are asked first of all: scoring may fill them anew. An engine behind an address is asked the
    rest at once: a round then takes as long as three answers in a row, and what scores need as long as two. One that is
    to be asked alone gets each of them by itself.

    Args:
        engine: to ask.
        fixed: what to ask about; its sequences are completed by the first answer.
        told: takes each answer as it comes.
        adapter: whether the model without its adapter is worth asking, where the engine has one.
        noise: whether the engine's own noise is still to be measured.

    """
    adapter = adapter and engine.adapter is not None
    told.needed = ("scored", *(["again"] if noise else []), *(["base"] if adapter else []))
    told.plain = told.take("caches", lambda: engine.go_on(fixed.prompts, ANSWER_TOKENS))
    if not fixed.sequences:
        fixed.sequences = _sequences(fixed.prompts, told.plain)
    questions: list[Question] = [
        _scored,
        _salted,
        *([_again] if noise else []),
        *([_base] if adapter else []),
        _version,
    ]
    if engine.inside or engine.alone:
        for each in questions:
            each(engine, fixed, told)
    else:
        _at_once(questions, engine, fixed, told)
    _refilled(engine, fixed, told)


def _at_once(questions: list[Question], engine: Engine, fixed: Fixed, told: Asked) -> None:
    """Ask each of them by a thread of its own, and wait for all; raises what one of them ended with."""
    errors: list[Exception] = []

    def run(question: Question) -> None:
        try:
            question(engine, fixed, told)
        except Exception as error:  # noqa: BLE001 - raised again where somebody waits
            errors.append(error)

    threads = [
        threading.Thread(target=run, args=(each,), name="doctor-witness-part", daemon=True) for each in questions
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def _scored(engine: Engine, fixed: Fixed, told: Asked) -> None:
    told.scored = told.take("agreement", lambda: engine.score(fixed.sequences))


def _again(engine: Engine, fixed: Fixed, told: Asked) -> None:
    told.again = told.take("noise", lambda: engine.score(fixed.sequences))


def _base(engine: Engine, fixed: Fixed, told: Asked) -> None:
    told.base = told.take("adapter", lambda: engine.score(fixed.sequences, base=True))


def _version(engine: Engine, fixed: Fixed, told: Asked) -> None:  # noqa: ARG001 - one form for all of them
    told.version = told.take("version", engine.version)


def _salted(engine: Engine, fixed: Fixed, told: Asked) -> None:
    if told.plain is not None:
        salt = binascii.hexlify(os.urandom(8)).decode()
        told.salted = told.take("caches", lambda: engine.go_on(fixed.prompts, ANSWER_TOKENS, salt=salt))


def _refilled(engine: Engine, fixed: Fixed, told: Asked) -> None:
    """What was decoded, by a prefill."""
    continued = told.salted or told.plain
    if continued is not None and told.scored is not None:
        wanted = _sequences(fixed.prompts, continued)
        told.refilled = told.take("decode", lambda: engine.score(wanted))


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
        moved: updates since the scores that are kept, which are known to have moved the weights; None: the policy's own
            scores tell.

    """

    step: int
    pushes: int
    asked: Asked
    trained: Optional[list[Logps]]
    base: Optional[list[Logps]] = None
    continued: Optional[list[Logps]] = None
    weights: Any = None
    moved: Optional[int] = None

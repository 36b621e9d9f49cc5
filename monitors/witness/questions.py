"""Questions of a driver to the engine of its run, whose policy is out of reach: only what the engine says of itself.

A driver holds no model, and a forward of the workers would be one of all of them together. So the engine is held
against itself: with and without its prefix cache, decoded and in a prefill, before and after a push of the same
weights, and after updates that must have moved them. Whether it samples from the policy is judged by the batches.

The engines of a driver sleep while it trains, and one that is asked in its sleep dies. So nothing is asked but behind a
push, and nothing outlives the moment for which the run waits: what has no answer by then is given up, on the engine's
side, too.

Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

import math
import time
from typing import Any, Callable, Mapping, Optional, Sequence

from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.shield import shielded
from doctor.monitors.witness import witness as witnessing
from doctor.monitors.witness.asked import LATE, CannotAsk, Engine
from doctor.monitors.witness.inside import continued, scored
from doctor.monitors.witness.judge import Held, Judged
from doctor.monitors.witness.seen import Asked, Round
from doctor.monitors.witness.waiting import Waiting
from doctor.monitors.witness.witness import Witness

#: said where the engine cannot be asked, with the reason; of the batches that says nothing
OFF = {
    "en": "doctor: witness: not seen whether the engine's caches and weights are renewed with each push: {reason}",
    "zh": "doctor: witness: 未能确认引擎的缓存和权重是否随每次推送更新:{reason}",
}


class Workers:
    """In the place of the policy, which the workers hold: it scores nothing, and tells no weights."""

    parts = "the workers hold the policy"
    has_adapter = together = False
    longest: Optional[int] = None

    def __init__(self, tokenizer: Any, precision: Optional[str]) -> None:
        self._tokenizer, self.precision = tokenizer, precision

    @property
    def vocabulary(self) -> int:
        """How many tokens the tokenizer knows.

        Raises:
            CannotAsk: there is none, or it does not tell.

        """
        try:
            return len(self._tokenizer)
        except TypeError:
            raise CannotAsk("the driver has no tokenizer that tells the size of its vocabulary") from None

    def checksums(self) -> dict[str, Any]:
        """None are known."""
        return {}


class _Deaf:
    """In the place of what hears the trainer's own forwards: those are made by workers."""

    @property
    def listener(self) -> _Deaf:
        """Itself, which hears nothing."""
        return self

    def listen(self) -> None:
        """Nothing can be heard."""

    listen_no_more = stop = listen

    def heard(self) -> None:
        """Nothing was."""

    unheard = heard

    def told_s(self) -> float:
        """Seconds that listening took."""
        return 0.0


class _NoWeights:
    """In the place of the comparison of weights: the driver has none to compare with."""

    def remember(self, step: int, checksums: Mapping[str, Any]) -> None:
        """Nothing is there."""

    def inside(self, engine: Engine, step: int) -> None:
        """No engine of a driver lies in its process."""

    asked = inside


def moves(metrics: Any) -> Optional[bool]:
    """Whether an update has moved the weights, by what the trainer tells of it; None where it tells too little.

    >>> moves({"actor/lr": 1e-6, "actor/grad_norm": [0.3, 0.2]}), moves({"actor_lr": 0.0}), moves({"lr": 1e-6})
    (True, False, None)
    """
    if not isinstance(metrics, Mapping):
        return None
    rate, norm = (_told(metrics, name) for name in ("lr", "grad_norm"))
    if rate and not max(rate):
        return False
    if not rate or not norm:
        return None
    return any(0.0 < each < math.inf for each in norm)


def _told(metrics: Mapping[str, Any], name: str) -> list[float]:
    """Values of the actor's metric of a name: one, or one for each part of the update."""
    found = next((metrics[each] for each in (f"actor/{name}", f"actor_{name}", name) if each in metrics), None)
    values = found if isinstance(found, (list, tuple)) else [found]
    return [float(each) for each in values if isinstance(each, (int, float)) and not isinstance(each, bool)]


class EngineWitness(Witness):
    """The witness of an engine by its own answers.

    Args:
        guard: takes findings and events.
        engine: gives the engine when it is first needed; may raise `CannotAsk`.
        steps: tells how many updates are made.
        tokenizer: of the model.
        precision: of the engine, as far as the settings tell.

    """

    #: at the start and after updates 1, 2 and 3: before the first push there is nothing to hold its answers against
    FIRST = witnessing.FIRST_ROUNDS - 1
    ROUND, OFF, END = "questions", "questions-off", "questions-end"

    def __init__(
        self, guard: Guard, engine: Callable[[], Engine], steps: Callable[[], int], tokenizer: Any,
        precision: Optional[str] = None,
    ) -> None:  # fmt: skip
        policy: Any = Workers(tokenizer, precision)
        super().__init__(guard, policy, engine, steps, tokenizer, every=guard.options.witness_every)
        self._weights: Any = _NoWeights()
        self.moved = 0
        #: whether the engine gave the same question the same answer to the last bit
        self._repeats = False

    @shielded
    def updated(self, moved: Optional[bool]) -> None:
        """An update was made, and has moved the weights or not, as far as that is known."""
        self.moved = (self.moved or 0) + (moved is True and self._repeats)

    @shielded
    def pushed(self) -> None:
        """Weights were pushed: from now on they can be asked about, and the same ones once more."""
        super().pushed()
        held = self.known.held
        self._due = self._due or (
            held is not None and held.step == self._steps() and self.pushes == held.pushes + 1 == 2
        )

    @shielded
    def idle(self) -> None:
        """The engine is awake and has nothing to do: ask where it is time to, and be done with it."""
        if not self.pushes and not self.rounds and not self.late:
            self.begin()
        else:
            self.look()
        self._give_up_waiting(same_weights=True)

    def _listens(self) -> Any:
        return _Deaf()

    def _take_round(self) -> None:
        if self._engine is not None:
            self._engine.until_s = time.monotonic() + witnessing.PATIENCE_S
        super()._take_round()

    def _conclude(self, waiting: Waiting) -> None:
        if not waiting.asked.enough and LATE in waiting.asked.unseen.values():
            self._is_late(waiting)
        else:
            super()._conclude(waiting)

    def _measure_noise(self, asked: Asked) -> None:
        super()._measure_noise(asked)
        if asked.again is not None and asked.scored is not None:
            self._repeats = asked.again == asked.scored

    def _remember(self, seen: Round, waiting: Waiting, judged: Judged) -> None:
        super()._remember(seen, waiting, judged)
        scored, kept = seen.asked.scored, self.known.held
        if scored is None:
            return
        still = judged.verdicts.get("renewed")
        if kept is None or seen.step == kept.step or (still is not None and still.ok):
            self.known.held = Held(seen.step, seen.pushes, scored)
            self.moved = 0

    def note_off(self, reason: str) -> None:
        """Ask nothing, for which nobody can do anything: only the run folder is told."""
        self.off = reason
        if self.guard.events is not None:
            self.guard.events.write("monitor", step=self.guard.step, witness=self.OFF, reason=reason)

    def _unseen(self, reason: str) -> None:
        if self.guard.rank == 0:
            self.guard.alerts.print(OFF[self.guard.options.language].format(reason=reason))


class RayEngine(Engine):
    """vLLM in an actor of Ray whose `generate` takes ids and sampling parameters, and gives vLLM's own answer.

    https://github.com/OpenRLHF/OpenRLHF/blob/v0.9.1/openrlhf/trainer/ray/vllm_engine.py
    Its `max_logprobs` may be 1. One sequence is scored after the other, so that each is alone in its batch.

    Args:
        actor: the handle.
        modules: of the process, for Ray and vLLM, which the program has imported.
        precision: of the engine's weights.

    """

    name = "vLLM in an actor of Ray"
    alone = True

    def __init__(self, actor: Any, modules: Mapping[str, Any], precision: Optional[str] = None) -> None:
        self._actor, self._modules, self.precision = actor, modules, precision

    def open(self) -> None:
        """See that it can be asked."""
        if getattr(self._actor, "generate", None) is None:
            raise CannotAsk(
                "this release hands out its engine's answers from one queue, which a question would disturb"
            )
        if any(self._modules.get(each) is None for each in ("ray", "vllm")):
            raise CannotAsk("the driver has not imported Ray and vLLM")

    def score(self, sequences: Sequence[Sequence[int]], *, base: bool = False) -> list[Any]:
        """By `prompt_logprobs`."""
        if base:
            raise CannotAsk("it has no model without the adapter")
        return [scored(ids, self._run([ids], max_tokens=1, prompt_logprobs=0)[0]) for ids in sequences]

    def go_on(self, prompts: Sequence[Sequence[int]], tokens: int, *, salt: Optional[str] = None) -> list[Any]:
        """By a greedy generation; it knows no salt."""
        if salt is not None:
            raise CannotAsk("it cannot bypass its prefix cache")
        return [continued(each) for each in self._run(prompts, max_tokens=tokens, logprobs=1)]

    def _run(self, ids: Sequence[Sequence[int]], **sampling: Any) -> list[Any]:
        ray, vllm = self._modules["ray"], self._modules["vllm"]
        left_s = self.left_s()
        asked = vllm.SamplingParams(temperature=0.0, ignore_eos=True, **sampling)
        refs = [self._actor.generate.remote(list(each), asked) for each in ids]
        try:
            return list(ray.get(refs, timeout=left_s))
        except Exception as error:  # noqa: BLE001 - whatever Ray or the actor raises
            for each in refs:
                ray.cancel(each)  # what is cancelled ends its request in the engine as well
            if isinstance(error, TimeoutError):
                raise CannotAsk(LATE) from None
            raise CannotAsk(f"it answers {type(error).__name__}") from None

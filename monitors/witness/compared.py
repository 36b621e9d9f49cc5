"""The weights of both sides, tensor by tensor, and what the trainer's were at earlier steps.

Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Optional

from doctor.monitors.witness.asked import CannotAsk, Engine
from doctor.monitors.witness.policy import TrainedModel
from doctor.monitors.witness.remote import compared_remotely
from doctor.monitors.witness.seen import Asked
from doctor.monitors.witness.waiting import Waiting
from doctor.oracles.verdict import Verdict
from doctor.oracles.weights import Checksum, compare_weights, digest

#: seconds that the run waits for the weights of an engine behind an address, where something is wrong
WEIGHTS_S = 10.0

#: rounds that are remembered, besides the first
REMEMBERED = 6


class Weights:
    """What is known of the trainer's weights.

    Args:
        policy: that is trained.

    """

    def __init__(self, policy: TrainedModel) -> None:
        self._policy = policy
        self._checksums: dict[int, dict[str, Checksum]] = {}

    def remember(self, step: int, checksums: dict[str, Checksum]) -> None:
        """Keep those of a step."""
        if checksums:
            self._checksums[step] = checksums
            for old in sorted(self._checksums)[1:-REMEMBERED]:
                del self._checksums[old]

    def _earlier(self, step: int) -> dict[int, dict[str, Checksum]]:
        return {each: kept for each, kept in self._checksums.items() if each < step}

    def inside(self, engine: Engine, step: int) -> Optional[Verdict]:
        """Both sides tensor by tensor where both lie in this process, which costs no question."""
        with suppress(CannotAsk):
            return compare_weights(self._policy.tensors(), engine.tensors(), self._earlier(step))
        return None

    def asked(self, engine: Engine, step: int) -> Optional[Verdict]:
        """The same of an engine behind an address, where it tells its weights; of a policy in parts its beginnings."""
        held: list[Verdict] = []
        whole, earlier = self._policy.parts is None, self._earlier(step)
        trained = self._policy.tensors() if whole else self._policy.beginnings()

        def question(_: Asked) -> None:
            with suppress(CannotAsk):
                held.append(compared_remotely(engine, trained, earlier, digest if whole else None))

        waiting = Waiting(step, 0, question)
        waiting.start(inside=False)
        if not waiting.wait(WEIGHTS_S):
            return None
        waiting.reraise()
        return next(iter(held), None)

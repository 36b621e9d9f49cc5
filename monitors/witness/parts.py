"""A policy of which each rank holds a part: judged by what the trainer's own forwards say.

The tokens are those of the batch, so they are others in every round, and some are harder to agree on than others. What
an engine stands at is therefore asked by the same tokens: it also scores rows of earlier rounds, of which is known what
the trainer gave them then. Where it gives them that still, while it disagrees about the present ones, its weights are
those of then.

Runs inside the patient: Python 3.9, the standard library.
"""

from __future__ import annotations

from typing import Callable, Optional, Sequence

from doctor.catalogue.finding import Finding
from doctor.checks.witness import adapter_not_in_engine, engine_not_the_policy
from doctor.monitors.witness.asked import Logps
from doctor.monitors.witness.forwards import ForwardListener, Heard
from doctor.monitors.witness.judge import NEARER, UNLIKELY, Judged, Known
from doctor.monitors.witness.policy import TrainedModel
from doctor.oracles.logps import TIMES_NOISE, healthy_gap, logp_agreement
from doctor.oracles.verdict import BROKEN, DOUBTFUL, HOLDS, Verdict

#: earlier rounds whose rows are asked about again: the first one and the last ones; rows of each
REMEMBERED, PAST_ROWS = 3, 2


class Parts:
    """What is heard of a policy in parts, and what was.

    Args:
        policy: of which this rank holds a part.
        steps: tells how many optimizer steps are made.
        temperature: at which the policy's own log probabilities are; None: not known.

    """

    def __init__(
        self, policy: TrainedModel, steps: Callable[[], int], temperature: Callable[[], Optional[float]]
    ) -> None:
        self._adapter, self._together = policy.has_adapter, policy.together
        self.listener = ForwardListener(
            policy.heard, steps, temperature, policy.vocabulary, rotary=policy.rotary, together=policy.together
        )
        self._past: list[Heard] = []
        self._suspected: Optional[int] = None
        self._held_once = False

    def wanted(self, heard: Heard) -> list[list[int]]:
        """Rows that the engine is to score: those heard now, then those of earlier rounds."""
        return [*heard.rows, *(row for past in self._earlier(heard) for row in past.rows)]

    def _earlier(self, heard: Heard) -> list[Heard]:
        return [past for past in self._past if past.step < heard.step]

    def judge(self, heard: Heard, scores: Sequence[Logps], known: Known, weights: Optional[Verdict] = None) -> Judged:
        """Judge what was heard by what the engine says of the same tokens.

        Args:
            heard: rows of a forward.
            scores: of the rows `wanted`.
            known: the engine's noise and precision.
            weights: the verdict on the weights, where they were compared.

        """
        verdict = _agreement(heard.logps, scores[: len(heard.rows)], known)
        judged = Judged({"agreement": verdict})
        if weights is not None:
            judged.verdicts["weights"] = weights
        older = self._whose(heard, scores, verdict, known)
        off = verdict.state in (BROKEN, DOUBTFUL) and not verdict.details.get("grows")
        finding = self._finding(heard, verdict, older, known, off=off, weights=weights)
        if finding is not None and (self._held_once or not self._together):
            judged.findings.append(finding)
        self._suspected = None if older is None else heard.step
        if verdict.state is HOLDS and finding is None and older is None:
            self._held_once = True
            self._remember(heard)
        return judged

    def _finding(
        self, heard: Heard, verdict: Verdict, older: Optional[int], known: Known, *, off: bool,
        weights: Optional[Verdict],
    ) -> Optional[Finding]:  # fmt: skip
        """What is wrong, with the most that is known of it.

        That earlier weights fit better is told at once where both sides are too far apart, and else once it has come
        in two rounds running.
        """
        if weights is not None and weights.state is BROKEN:
            return engine_not_the_policy.other_weights(heard.step, weights, verdict if off else None)
        if older is not None and (off or self._suspected is not None):
            named = adapter_not_in_engine.kept if self._adapter else engine_not_the_policy.of_step
            return named(heard.step, older, verdict)
        if off:
            return engine_not_the_policy.differs(heard.step, verdict, healthy_gap(known.precision))
        return None

    def _whose(self, heard: Heard, scores: Sequence[Logps], now: Verdict, known: Known) -> Optional[int]:
        """The earlier step whose log probabilities the engine still gives; None where the present ones fit as well."""
        at, found = len(heard.rows), []
        for past in self._earlier(heard):
            then = _agreement(past.logps, scores[at : at + len(past.rows)], known)
            at += len(past.rows)
            if then.details.get("max") is not None:
                found.append((then.value, past.step))
        least = max(healthy_gap(known.precision) / 4, TIMES_NOISE * known.noise)
        best, step = min(found, default=(now.value, -1))
        return step if now.details.get("max") is not None and now.value > max(NEARER * best, least) else None

    def _remember(self, heard: Heard) -> None:
        """Keep the first round and the last ones."""
        kept = Heard(heard.step, heard.rows[:PAST_ROWS], heard.logps[:PAST_ROWS])
        self._past = [past for past in self._past if past.step != heard.step]
        self._past.append(kept)
        del self._past[1:-REMEMBERED]


def _agreement(first: Sequence[Logps], second: Sequence[Logps], known: Known) -> Verdict:
    """Both sides on the tokens that both know, and that one of them takes for likely."""
    mask = [
        [float(a is not None and b is not None and max(a, b) > UNLIKELY) for a, b in zip(*rows)]  # noqa: B905
        for rows in zip(first, second)  # noqa: B905 - Python 3.9
    ]
    return logp_agreement(first, second, mask, noise=known.noise, precision=known.precision)

"""The witness of a trainer whose batches hold what both sides gave the sampled tokens: nobody is asked anything.

Drivers of Ray trainers have such batches: the workers of the trainer have scored what the engine sampled, with the
weights that were sent to it last, and the engine's own values came along with the samples. To compare them costs some
milliseconds of the driver, no message, and no forward.

What differs here may be the weights or the tokens, for both were seen together only. What is told says so.

Runs inside the patient: Python 3.9, the patient's own arrays.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, Optional, Sequence

from doctor.catalogue.finding import Finding
from doctor.catalogue.problem import WARNING
from doctor.checks.witness import engine_not_the_policy, sampled_logps_renormalised, trained_tokens_not_sampled
from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.shield import shielded
from doctor.monitors.witness.judge import BATCH_TOKENS, Judged, as_event
from doctor.monitors.witness.witness import FIRST_ROUNDS, OFF, affords
from doctor.oracles.logps import healthy_gap, logp_agreement, renormalised, shifted, tempered
from doctor.oracles.sampling import staleness
from doctor.oracles.verdict import BROKEN, DOUBTFUL, HOLDS, Verdict

#: rows of a batch that are looked at, from all over it, and tokens of each
MOST_ROWS, MOST_TOKENS = 64, 2048

#: what top_p, top_k and min_p leave of a distribution, on average; other weights may also give every token more
LEAST_KEPT = 0.5

#: how far a slope may be from the one that a temperature makes, as a share of its logarithm
SLOPE_SLACK = 0.5


@dataclass(frozen=True)
class Sampling:
    """How the engine samples, as the run's settings have it; None where that is not known.

    Args:
        temperature: of the samples.
        cut: whether top_p, top_k or min_p leave out a part of the distribution.
        precision: the coarser one of both sides, "bfloat16".

    """

    temperature: Optional[float] = None
    cut: Optional[bool] = None
    precision: Optional[str] = None


@dataclass
class Rollouts:
    """Some rows of a batch.

    Args:
        trained: the trainer's log probabilities of the answers, [rows, tokens], before it learned from them.
        sampled: the engine's.
        mask: 1 where the policy sampled a token.
        versions: step whose weights made each row, by the engine's own word; None where it has none.

    """

    trained: Any
    sampled: Any
    mask: Any
    versions: Sequence[Optional[int]] = ()


def spread(count: int, most: int = MOST_ROWS) -> list[int]:
    """Indices from all over a batch, for each replica of an engine makes a part of it.

    >>> spread(3), spread(10, 4)
    ([0, 1, 2], [0, 2, 5, 7])
    """
    return list(range(count)) if count <= most else [at * count // most for at in range(most)]


def judge_rollouts(
    rollouts: Rollouts, step: int, sampling: Sampling, before: Optional[float] = None
) -> Judged:  # fmt: skip
    """Judge rows that the engine should have sampled with the weights of `step`.

    Args:
        rollouts: the rows.
        step: updates that the trainer had made, all of which were sent to the engine.
        sampling: how the engine samples.
        before: the mean |d| of a batch before the first update; None: not known.

    """
    judged = Judged()
    if any(each is not None for each in rollouts.versions):
        lag = staleness([each for each in rollouts.versions if each is not None], step)
        judged.verdicts["version"] = lag
        if lag.state is BROKEN and lag.value > 0:
            judged.findings.append(engine_not_the_policy.of_version(step, step - int(lag.value), lag))
    agreement = logp_agreement(
        rollouts.trained, rollouts.sampled, rollouts.mask, before=before, precision=sampling.precision
    )
    judged.verdicts["batch"] = agreement
    off = agreement.state is BROKEN or (agreement.state is DOUBTFUL and not agreement.details.get("grows"))
    if off and not judged.findings and agreement.details["tokens"] >= BATCH_TOKENS:
        judged.findings.append(_named(rollouts, step, sampling, agreement, judged))
    return judged


def _named(rollouts: Rollouts, step: int, sampling: Sampling, agreement: Verdict, judged: Judged) -> Finding:
    """What the gap is, where something but weights explains it whole; the settings must allow for it."""
    sides = rollouts.trained, rollouts.sampled, rollouts.mask
    moved = judged.verdicts["shifted"] = shifted(*sides)
    if moved.state is BROKEN:
        return trained_tokens_not_sampled.one_place_apart(step, moved)
    if sampling.cut:
        cut = judged.verdicts["renormalised"] = renormalised(*sides)
        if cut.state is BROKEN and cut.details["kept_mass"] >= LEAST_KEPT:
            return sampled_logps_renormalised.cut(step, cut)
    if sampling.temperature not in (None, 1.0):
        slope = judged.verdicts["tempered"] = tempered(*sides)
        if slope.state is BROKEN and _of_temperature(slope.value, sampling.temperature):
            return sampled_logps_renormalised.of_other_temperature(step, slope)
    return engine_not_the_policy.of_samples(step, agreement, min(agreement.limit, healthy_gap(sampling.precision)))


def _of_temperature(slope: float, temperature: Optional[float]) -> bool:
    """Whether a slope is about that of a side that divides by the temperature over one that does not."""
    if temperature is None or min(slope, temperature) <= 0.0:
        return False
    made, wanted = abs(math.log(slope)), abs(math.log(temperature))
    return abs(made - wanted) <= SLOPE_SLACK * wanted


def _is_doubtful(finding: Finding) -> bool:
    """Whether one batch alone is too little to say it: a gap that hard tokens may make."""
    return finding.problem is engine_not_the_policy.PROBLEM and finding.severity is WARNING


class BatchWitness:
    """The witness of one run by its batches.

    Args:
        guard: takes findings, metrics and events.
        sampling: how the engine samples.
        every: updates between two rounds once the first ones are over; 0: no more of them.

    """

    def __init__(self, guard: Guard, sampling: Sampling, every: float = 50) -> None:
        self.guard, self.sampling, self.every = guard, sampling, every
        self.rounds = 0
        #: seconds of the driver that went into the witness
        self.spent_s = 0.0
        #: why nothing is seen any more; None while the witness looks on
        self.off: Optional[str] = None
        self._begun_s = time.monotonic()
        self._last_step = -1
        self._before: Optional[float] = None
        self._doubted = False
        self._told: set[str] = set()

    def wants(self, step: int) -> bool:
        """Whether the batch that was sampled behind `step` updates is to be looked at."""
        if self.off is not None or step == self._last_step:
            return False
        if self.rounds < FIRST_ROUNDS - 1 or self._doubted:
            return True
        due = bool(self.every) and step - self._last_step >= self.every
        return due and affords(self.spent_s, self.rounds, self._begun_s)

    @shielded
    def look(self, rollouts: Rollouts, step: int, began_s: float) -> None:
        """Judge a batch.

        Args:
            rollouts: rows of it.
            step: updates made when it was sampled.
            began_s: of the monotonic clock, when its rows began to be taken.

        """
        self._last_step = step
        self.rounds += 1
        judged = judge_rollouts(rollouts, step, self.sampling, self._before if step else None)
        agreement = judged.verdicts["batch"]
        if not step and agreement.state is HOLDS:
            self._before = agreement.value
        self._tell(judged, step)
        self.spent_s += time.monotonic() - began_s

    def _tell(self, judged: Judged, step: int) -> None:
        """Findings to the guard, once while they last, a doubtful one when it has come twice; figures to the folder."""
        agreement = judged.verdicts["batch"]
        doubtful = any(_is_doubtful(each) for each in judged.findings)
        names = {each.problem.id + each.message.en.headline for each in judged.findings}
        if not doubtful or self._doubted:
            for each in judged.findings:
                if each.problem.id + each.message.en.headline not in self._told:
                    self.guard.alarm(each)
            self._told = names
        self._doubted = doubtful and not self._told
        if agreement.details.get("mean_ratio") is not None:
            self.guard.observe(step, {"witness/logp_gap": agreement.value})
        if self.guard.events is not None:
            self.guard.events.write(
                "monitor", step=step, witness="round", verdicts=as_event(judged.verdicts), unseen={},
                spent_s=round(self.spent_s, 4),
            )  # fmt: skip

    def hook_failed(self) -> None:
        """One of its functions failed and is switched off: nothing is claimed from here on."""
        self.off = self.off or "the witness failed"

    @shielded
    def switch_off(self, reason: str) -> None:
        """See nothing any more, and say why, once."""
        if self.off is not None:
            return
        self.off = reason
        self.guard.alerts.print(OFF[self.guard.options.language].format(reason=reason))
        if self.guard.events is not None:
            self.guard.events.write("monitor", step=self.guard.step, witness="off", reason=reason)

    @shielded
    def close(self) -> None:
        """Tell the run folder what was seen, and what it cost."""
        if self.guard.events is not None:
            self.guard.events.write(
                "monitor", step=self.guard.step, witness="end", rounds=self.rounds, late=0, off=self.off,
                spent_s=round(self.spent_s, 3), run_s=round(time.monotonic() - self._begun_s, 1),
            )  # fmt: skip

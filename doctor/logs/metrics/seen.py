"""What the metrics of a run could not tell of: "nothing wrong" is a claim about what was seen, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from doctor.catalogue.courses import Course, updates_a_batch
from doctor.catalogue.held_out import HELD_OUT, is_score
from doctor.logs.metrics.wanted import is_wanted

#: metrics that compare what both sides give the same tokens; the age of samples (`sampling/staleness`) is none of them
_COMPARED = (
    "sampling/sampling_logp", "sampling/truncated_share", "sampling/importance_", "sampling/prob", "sampling/output_",
    "rollout_corr/", "training/rollout_",
    "inference/", "witness/logp_gap",
)  # fmt: skip

#: what a run of reinforcement learning can be judged by -> metrics of which one tells of it (beginnings of names)
_OF_RL: dict[str, tuple[str, ...]] = {
    "sampler_learner": _COMPARED,
    "groups": ("frac_reward_zero_std", "reward_std", "critic/advantages/", "critic/score/max"),
    "entropy": ("entropy",),
    "kl": ("kl", "policy_drift", "clip_ratio/"),
    "lengths": ("completions/",),
}
_OF_ALL: dict[str, tuple[str, ...]] = {"gradient": ("grad_norm",)}
_BEGINNINGS = tuple(each.rstrip("*") for each in HELD_OUT)

#: bookkeeping that nobody would judge, and what the witness has judged itself
_PLAIN = ("epoch", "step", "num_tokens", "total_flos", "train_", "timing", "time", "training_step", "witness/")
_MOST_UNJUDGED = 40


def witness(names: AbstractSet[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of all metrics told: what nothing was seen of (keys of the words `not_seen_...`), and what no rule judges."""
    if not {"loss", "reward"} & names:
        return (), ()
    kinds = {**_OF_RL, **_OF_ALL} if "reward" in names else _OF_ALL
    missing = [kind for kind, begins in kinds.items() if not any(name.startswith(begins) for name in names)]
    if not any(name.startswith(_BEGINNINGS) and (is_score(name) or name == "eval_loss") for name in names):
        missing.append("held_out")
    unjudged = sorted(name for name in names if not is_wanted(name) and not name.startswith(_PLAIN))
    return tuple(missing), tuple(unjudged[:_MOST_UNJUDGED])


#: logged steps after which a policy that is updated twice a batch has moved
_MOVED = 10


def is_unmoved(courses: Mapping[str, Course], settings: Mapping[str, object]) -> bool:
    """Whether a KL that several updates a batch must move is 0 throughout a log whose decimals may have hidden it."""
    updates, drift = updates_a_batch(settings), courses.get("policy_drift")
    several = updates is not None and updates > 1 and drift is not None and drift.count >= _MOVED
    return several and "policy_drift" in rounded_away(courses)


#: what moves by a ten-thousandth in a run that is well; decimals that no program rounds to, of values above this
_TINY, _DECIMALS, _LARGE = ("policy_drift", "clip_ratio/", "kl"), 5, 1e-3


def rounded_away(courses: Mapping[str, Course]) -> set[str]:
    """Metrics of small figures that are 0 in all steps of a log that prints few decimals: they tell nothing."""
    values = (
        value
        for course in courses.values()
        if course.name != "learning_rate"
        for value in (course.first, course.last, course.low, course.high)
    )
    if any(_LARGE < abs(each) < math.inf and abs(each - round(each, _DECIMALS)) > 1e-9 for each in values):
        return set()
    return {name for name, each in courses.items() if name.startswith(_TINY) and each.low == each.high == 0}

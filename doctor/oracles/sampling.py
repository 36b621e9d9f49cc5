"""What off-policy sampling leaves to learn from: weights of the samples, their age, and rewards that differ."""

from __future__ import annotations

import math
from typing import Any, Optional

from doctor.oracles.vectors import exp, finite, flat, kept, rows, vectors
from doctor.oracles.verdict import BROKEN, DOUBTFUL, HOLDS, Verdict, unseen

#: effective share of the samples below which a correction rests on few of them
#: (https://github.com/volcengine/verl/blob/main/docs/algo/rollout_corr.md)
ESS_LIMIT = 0.3

#: rewards of one group that differ by less are one reward
SAME_REWARD = 1e-6

#: share of the groups that teach nothing at which most of the batch is spent in vain
IDLE_GROUPS = 0.8


def effective_sample_size(log_ratios: Any, mask: Any = None, *, limit: float = ESS_LIMIT) -> Verdict:
    """Which share of the samples an importance correction really rests on: (sum w)^2 / (n sum w^2).

    Args:
        log_ratios: log of trainer's over engine's probability, of tokens or of sequences; arrays or nested sequences.
        mask: 1 where one counts.
        limit: share below which the correction is doubtful.

    Returns:
        `value` is the share, 1 where all weights are equal, 1/n where one sample decides all.

    >>> effective_sample_size([0.0, 0.0, 0.0, 0.0]).value
    1.0
    >>> effective_sample_size([5.0] + [0.0] * 9).state.value
    'doubtful'
    """
    ratios, chosen = vectors(log_ratios, mask)
    good = finite(ratios) & kept(chosen, ratios)
    ratios = ratios[good]
    size = len(ratios)
    if not size:
        return unseen("effective-sample-size", "there is no finite ratio")
    weights = exp(ratios - float(ratios.max()))  # a common factor cancels out, and nothing overflows
    total, squares = float(weights.sum()), float((weights * weights).sum())
    value = total * total / (size * squares)
    reason = f"the correction rests on {value:.0%} of {size} samples"
    return Verdict("effective-sample-size", DOUBTFUL if value < limit else HOLDS, value, limit, reason, {"n": size})


def staleness(sampled: Any, trained: int, *, allowed: int = 0) -> Verdict:
    """How many versions of the weights lie between a batch and the policy that learns from it.

    Args:
        sampled: version that made each sample, one or several.
        trained: version that learns from them.
        allowed: lag that the algorithm is made for: 0 for a synchronous one, 1 for one step off.

    Returns:
        `value` is the greatest lag. A sample of a version that is yet to come is broken too: somebody counts wrongly.

    >>> staleness([7, 7, 6], 7, allowed=1).state.value
    'holds'
    >>> staleness([3, 7], 7, allowed=1).reason
    'samples are up to 4 versions old where 1 is allowed'
    """
    lags = [trained - int(each) for each in flat(sampled) if each is not None]
    if not lags:
        return unseen("staleness", "no sample records its version")
    oldest, newest = max(lags), min(lags)
    details = {"mean": sum(lags) / len(lags), "share": sum(each > allowed for each in lags) / len(lags)}
    if newest < 0:
        reason = f"samples are of versions up to {-newest} ahead of the trainer's"
        return Verdict("staleness", BROKEN, float(newest), 0.0, reason, details)
    state = BROKEN if oldest > allowed else HOLDS
    reason = f"samples are up to {oldest} versions old where {allowed} is allowed"
    return Verdict("staleness", state, float(oldest), float(allowed), reason, details)


def group_variance(rewards: Any, group_size: Optional[int] = None) -> Verdict:
    """Which share of the groups has one reward throughout, and so gives no advantage.

    Args:
        rewards: of the groups [groups, answers], or in one row with `group_size`; NaN is left out.
        group_size: answers of one group.

    Returns:
        `value` is the share of groups that teach nothing: broken at 1, doubtful from 0.8.

    Raises:
        ValueError: the rewards of one row cannot be divided into such groups.

    >>> group_variance([[1.0, 0.0], [1.0, 1.0]]).value
    0.5
    >>> group_variance([0.0, 0.0, 0.0, 0.0], group_size=2).state.value
    'broken'
    """
    groups = rows(rewards)
    if group_size is not None:
        values = list(flat(groups))
        if group_size < 1 or len(values) % group_size:
            raise ValueError(f"{len(values)} rewards cannot be split into groups of {group_size}")
        groups = [values[at : at + group_size] for at in range(0, len(values), group_size)]
    known = [[float(each) for each in group if each is not None and math.isfinite(each)] for group in groups]
    judged = [group for group in known if len(group) > 1]
    if not judged:
        return unseen("group-variance", "no group has two rewards")
    idle = sum(max(group) - min(group) <= SAME_REWARD for group in judged)
    value = idle / len(judged)
    state = BROKEN if idle == len(judged) else DOUBTFUL if value >= IDLE_GROUPS else HOLDS
    reason = f"{idle} of {len(judged)} groups have one reward throughout"
    return Verdict("group-variance", state, value, IDLE_GROUPS, reason, {"groups": len(judged)})

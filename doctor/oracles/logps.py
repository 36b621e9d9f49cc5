"""Log probabilities of the same tokens from two sides: trainer and engine, before and after, one path and another.

Levels: a mean of exp|d| above 1.05 at equal precision is too much (NeMo-RL's bar for a new model,
https://github.com/NVIDIA-NeMo/RL/blob/main/docs/adding-new-models.md); a mean |d| of 0.01 to 0.02 is usual in bf16 and
one above 0.1 a fault (https://github.com/vllm-project/vime/issues/94).
"""

from __future__ import annotations

import math
from typing import Any, Mapping, Optional, Sequence

from doctor.oracles.vectors import count, deviation, exp, finite, kept, mean, positions_of, rows, vectors
from doctor.oracles.verdict import BROKEN, DOUBTFUL, HOLDS, State, Verdict, unseen

#: mean exp|d| that is doubtful, and mean |d| that is broken, whatever the precision
RATIO_LIMIT, GAP_LIMIT = 1.05, 0.1

#: the gap is so many times that of before the first update: what was loaded since is not what is trained
TIMES_BEFORE = 3.0

#: mean |d| that kernels of a precision explain between two programs with equal weights; of float32 with TF32
HEALTHY: Mapping[str, float] = {"float32": 0.005, "float16": 0.01, "bfloat16": 0.04, "float8": 0.1}

#: of a precision that is not told: as for bf16
HEALTHY_UNTOLD = 0.04

#: below this a gap is arithmetic, however many times another gap it is
FLOOR = 0.001

#: so many times the engine's own noise is more than its noise
TIMES_NOISE = 3.0

#: a token whose probability halves or doubles
LN2 = math.log(2.0)

#: fewer tokens than this prove nothing; buckets over the positions, and tokens that a bucket must have
MIN_TOKENS, BUCKETS, BUCKET_TOKENS = 8, 4, 32

#: the last bucket against the first, and the standard errors by which they must differ
TIMES_FIRST, ERRORS = 2.0, 3.0

#: how far the slope must be from 1, and by how many of its standard errors
SLOPE, SLOPE_ERRORS = 0.1, 4.0

#: share of tokens on one side that no rounding makes, and tokens needed to say so
ONE_SIDED, ONE_SIDED_TOKENS = 0.9, 24


def healthy_gap(precision: Optional[str]) -> float:
    """Mean |d| that a precision explains; of one that is not known, that of bf16.

    >>> healthy_gap("torch.float32"), healthy_gap(None)
    (0.005, 0.04)
    """
    name = (precision or "").rpartition(".")[2].lower()
    name = {"half": "float16", "bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "fp8": "float8"}.get(
        name, name
    )
    if name.startswith("float8"):
        name = "float8"
    return HEALTHY.get(name, HEALTHY_UNTOLD)


def coarser(one: Optional[str], other: Optional[str]) -> Optional[str]:
    """The coarser of two precisions; None where one of them is not known.

    >>> coarser("float32", "bfloat16"), coarser(None, "float32")
    ('bfloat16', None)
    """
    return None if one is None or other is None else max(one, other, key=healthy_gap)


def repeat_noise(first: Any, second: Any, *, limit: float = HEALTHY_UNTOLD) -> Verdict:
    """How far an engine is from itself: the same tokens scored twice, with nothing changed in between.

    Args:
        first: log probabilities, arrays or nested sequences.
        second: of the same tokens, asked for again.
        limit: mean |d| above which the engine is too restless to judge others by.

    Returns:
        `value` is the mean |d|; `details` has the greatest one.

    >>> repeat_noise([-1.0, -2.0, -0.5, -3.0] * 2, [-1.0, -2.0, -0.5, -3.0] * 2).value
    0.0
    """
    gaps = _gaps(first, second, None)
    if len(gaps) < MIN_TOKENS:
        return unseen("repeat-noise", f"{len(gaps)} tokens are too few", tokens=len(gaps))
    value = mean(gaps)
    state = DOUBTFUL if value > limit else HOLDS
    reason = f"two answers of the engine differ by {value:.2g} a token"
    return Verdict("repeat-noise", state, value, limit, reason, {"max": float(gaps.max()), "tokens": len(gaps)})


def logp_agreement(
    trainer: Any,
    engine: Any,
    mask: Any = None,
    *,
    positions: Any = None,
    classes: Optional[Sequence[Any]] = None,
    before: Optional[float] = None,
    noise: float = 0.0,
    precision: Optional[str] = None,
) -> Verdict:
    """Whether trainer and engine give the same tokens the same log probabilities.

    Args:
        trainer: log probabilities [sequences, tokens], arrays or nested sequences; None or NaN is left out.
        engine: of the same tokens.
        mask: 1 where a token counts; None: everywhere.
        positions: of each token in its sequence; None: its index in the row.
        classes: a name of each token (`text`, `special`, `tool`); None: not told apart.
        before: the mean |d| before the first update, where it was measured.
        noise: the engine's own, `repeat_noise(...).value`.
        precision: of the engine, "bfloat16"; tells when a small gap is still too much.

    Returns:
        `value` is the mean |d|. Broken above 0.1, or where it is three times that of `before`: what the engine loaded
        since is not what is trained. Doubtful where the mean of exp|d| is above 1.05, above what the precision
        explains, or where the gap grows with the position. `details`: `mean_ratio`, `share_over_ln2`, `max`,
        `tokens`, `missing`, `buckets` (over the positions), `classes`.

    >>> same = [[-0.5, -1.0, -2.0, -0.1]] * 4
    >>> logp_agreement(same, same).state.value
    'holds'
    >>> other = [[each - 0.4 for each in row] for row in same]
    >>> verdict = logp_agreement(same, other)
    >>> verdict.state.value, round(verdict.value, 3), verdict.details["share_over_ln2"]
    ('broken', 0.4, 0.0)
    """
    gaps, at, kinds, missing = _located(trainer, engine, mask, positions, classes)
    tokens = len(gaps)
    if tokens < MIN_TOKENS:
        return unseen("logp-agreement", f"{tokens} tokens are too few", tokens=tokens, missing=missing)
    value, ratio = mean(gaps), mean(exp(gaps))
    buckets = _buckets(gaps, at)
    details = {
        "mean_ratio": ratio, "share_over_ln2": count(gaps > LN2) / tokens, "max": float(gaps.max()), "tokens": tokens,
        "missing": missing, "buckets": [each[0] for each in buckets], "classes": kinds,
    }  # fmt: skip
    state, limit, reason = _judged(value, ratio, before, noise, precision)
    if _grows(buckets):
        details["grows"] = True
        if state is HOLDS:
            state = DOUBTFUL
            reason = f"the gap grows with the position: {buckets[0][0]:.3g} to {buckets[-1][0]:.3g}"
    return Verdict("logp-agreement", state, value, limit, reason, details)


def _judged(
    value: float, ratio: float, before: Optional[float], noise: float, precision: Optional[str]
) -> tuple[State, float, str]:
    """State, limit and sentence of a mean gap."""
    said = f"trainer and engine differ by {value:.3g} a token"
    if value > GAP_LIMIT:
        return BROKEN, GAP_LIMIT, said
    if before is not None:
        limit = max(TIMES_BEFORE * before, TIMES_NOISE * noise, healthy_gap(precision) / 4)
        if value > limit:
            return BROKEN, limit, f"{said}, {before:.2g} before the first update"
    if ratio > RATIO_LIMIT:
        return DOUBTFUL, GAP_LIMIT, f"{said}, the mean of exp|d| is {ratio:.3f}"
    limit = max(healthy_gap(precision), TIMES_NOISE * noise) if precision else GAP_LIMIT
    if value > limit:
        return DOUBTFUL, limit, f"{said}, more than {precision} explains"
    return HOLDS, limit, said


def same_path(
    one: Any, other: Any, mask: Any = None, *, noise: float = 0.0, precision: Optional[str] = None,
    before: Optional[float] = None, what: str = "paths",
) -> Verdict:  # fmt: skip
    """Whether two ways through one engine give the same tokens the same log probabilities.

    With and without the prefix cache, decoded and prefilled, before and after a push of unmodified weights: the
    weights are the same, so only kernels may differ.

    Args:
        one: log probabilities, arrays or nested sequences.
        other: of the same tokens by the other way.
        mask: 1 where a token counts; None: everywhere.
        noise: of the engine, `repeat_noise(...).value`.
        precision: of the engine.
        before: what the two ways, or two others through the same engine, differ by where all is well: three times that
            is too much then, though never less than a quarter of what the precision explains.
        what: the two ways, for the sentence.

    >>> plain = [-1.0, -0.3, -2.0, -0.7, -1.1, -0.2, -0.9, -1.5]
    >>> same_path(plain, [each - 0.3 for each in plain], what="cached and salted").reason
    'cached and salted differ by 0.3 a token'
    >>> same_path(plain, [each - 0.02 for each in plain], precision="bfloat16", before=0.001).state.value
    'broken'
    """
    gaps = _gaps(one, other, mask)
    if len(gaps) < MIN_TOKENS:
        return unseen("same-path", f"{len(gaps)} tokens are too few", tokens=len(gaps))
    value, limit = mean(gaps), max(healthy_gap(precision), TIMES_NOISE * noise)
    if before is not None:
        limit = min(limit, max(TIMES_BEFORE * before, TIMES_NOISE * noise, healthy_gap(precision) / 4))
    details = {"max": float(gaps.max()), "tokens": len(gaps), "share_over_ln2": count(gaps > LN2) / len(gaps)}
    state = BROKEN if value > limit else HOLDS
    return Verdict("same-path", state, value, limit, f"{what} differ by {value:.3g} a token", details)


def renewed(then: Any, now: Any, updates: int) -> Verdict:
    """Whether an engine that repeats itself to the last bit scores given tokens otherwise after updates of the weights.

    Args:
        then: log probabilities that it gave, arrays or nested sequences.
        now: of the same tokens, later.
        updates: in between, of which it is known that they moved the weights.

    Returns:
        `value` is the mean |d|. One update may be too small for the engine's precision, so that 0 is doubtful behind
        one and broken behind two.

    >>> before = [-1.0, -0.3, -2.0, -0.7, -1.1, -0.2, -0.9, -1.5]
    >>> renewed(before, before, 2).reason
    '8 scores are bit for bit those of before 2 updates'
    >>> renewed(before, [each - 0.01 for each in before], 2).state.value
    'holds'
    """
    if updates < 1:
        return unseen("renewed", "no update is known to have moved the weights")
    gaps = _gaps(then, now, None)
    if len(gaps) < MIN_TOKENS:
        return unseen("renewed", f"{len(gaps)} tokens are too few", tokens=len(gaps))
    value, details = mean(gaps), {"updates": updates, "tokens": len(gaps)}
    if float(gaps.max()) > 0.0:
        reason = f"scores changed by {value:.3g} a token in {updates} updates"
        return Verdict("renewed", HOLDS, value, 0.0, reason, details)
    reason = f"{len(gaps)} scores are bit for bit those of before {updates} update{'s' if updates > 1 else ''}"
    return Verdict("renewed", BROKEN if updates > 1 else DOUBTFUL, 0.0, 0.0, reason, details)


def renormalised(trainer: Any, engine: Any, mask: Any = None, *, noise: float = 0.0) -> Verdict:
    """Whether the engine's log probabilities are those of a cut distribution (top_p, top_k, min_p), the trainer's not.

    What is left of a distribution after a cut is scaled up, so the engine gives every sampled token more, never less:
    the gap has one sign, which no rounding, staleness or other kernel makes.

    Args:
        trainer: log probabilities of sampled tokens.
        engine: of the same tokens, as they were when they were sampled.
        mask: 1 where a token counts.
        noise: of the engine.

    Returns:
        `value` is the share of the differing tokens to which the engine gives more. `details["kept_mass"]` is the mean
        share of the distribution that was left.

    >>> trainer = [-1.0, -0.3, -2.0, -0.7, -1.1, -0.2] * 5
    >>> renormalised(trainer, [each + 0.105 for each in trainer]).state.value
    'broken'
    >>> renormalised(trainer, [each + (-1) ** at * 0.105 for at, each in enumerate(trainer)]).state.value
    'holds'
    """
    first, second, chosen = vectors(trainer, engine, mask)
    good = finite(first) & finite(second) & kept(chosen, first)
    apart = second[good] - first[good]
    apart = apart[abs(apart) > max(TIMES_NOISE * noise, FLOOR)]
    if len(apart) < ONE_SIDED_TOKENS:
        return unseen("renormalised", f"only {len(apart)} tokens differ", tokens=len(apart))
    share, gain = count(apart > 0.0) / len(apart), mean(apart)
    if share >= ONE_SIDED:
        mass = mean(exp(apart * -1.0))
        reason = f"the engine gives {share:.0%} of the differing tokens more, as if {1 - mass:.0%} were cut off"
        return Verdict("renormalised", BROKEN, share, ONE_SIDED, reason, {"kept_mass": mass, "gain": gain})
    reason = f"the engine gives {share:.0%} of the differing tokens more"
    return Verdict("renormalised", HOLDS, share, ONE_SIDED, reason, {"gain": gain})


def tempered(trainer: Any, engine: Any, mask: Any = None) -> Verdict:
    """Whether one side's log probabilities are those of another temperature, or were scaled.

    They then rise with the other side's by a slope that is not 1: steep where the one that gives them sampled colder
    than the other one scores. At another temperature each place has a normaliser of its own, so that they scatter
    around the line; and scatter alone bends a regression. The slopes of each side over the other one bound the true one
    (https://en.wikipedia.org/wiki/Errors-in-variables_model), so both must lie on the same side of 1.

    Args:
        trainer: log probabilities of sampled tokens.
        engine: of the same tokens, as they were when they were sampled.
        mask: 1 where a token counts.

    Returns:
        `value` is the slope; `details["other"]` its other bound, `details["error"]` its standard error.

    >>> trainer = [-1.0, -0.3, -2.0, -0.7, -1.1, -0.2] * 5
    >>> tempered(trainer, [each / 0.7 for each in trainer]).state.value
    'broken'
    >>> tempered(trainer, [each + (-1) ** (at // 6) * 0.105 for at, each in enumerate(trainer)]).state.value
    'holds'
    """
    first, second, chosen = vectors(trainer, engine, mask)
    good = finite(first) & finite(second) & kept(chosen, first)
    one, other = first[good], second[good]
    gap = mean(abs(other - one))
    if len(one) < ONE_SIDED_TOKENS or deviation(one) < FLOOR or gap < FLOOR:
        return unseen("tempered", f"{len(one)} tokens differ too little", tokens=len(one))
    centred = one - mean(one)
    away, spread = other - mean(other), float((centred * centred).sum())
    together = float((centred * away).sum())
    slope = together / spread
    bound = float((away * away).sum()) / together if together > 0.0 else -math.inf
    error = deviation(away - centred * slope) / math.sqrt(spread)
    beyond = min(slope, bound) > 1.0 + SLOPE or 0.0 < max(slope, bound) < 1.0 - SLOPE
    state = BROKEN if beyond and abs(slope - 1.0) > SLOPE_ERRORS * error else HOLDS
    reason = f"the engine's log probabilities rise {slope:.2f} times as steeply as the trainer's"
    return Verdict("tempered", state, slope, 1.0, reason, {"other": bound, "error": error})


def shifted(trainer: Any, engine: Any, mask: Any = None, *, most: int = 1) -> Verdict:
    """Whether the engine's log probabilities belong to the tokens beside those that they stand at.

    Args:
        trainer: log probabilities [sequences, tokens], arrays or nested sequences.
        engine: of the same tokens, as they were when they were sampled.
        mask: 1 where a token counts.
        most: places to either side that are tried.

    Returns:
        `value` is the offset at which both sides agree: 1 where the engine's value of a token stands one place too far
        behind. Broken where they agree at it as two programs with equal weights do, three times better than in place.
        `details`: `in_place` and `moved`, the mean |d| without and with the offset.

    >>> trainer = [[-1.0, -0.3, -2.0, -0.7, -1.1, -0.2, -0.9, -3.0] * 4]
    >>> verdict = shifted(trainer, [[0.0, *trainer[0][:-1]]])
    >>> verdict.state.value, verdict.value
    ('broken', 1.0)
    >>> shifted(trainer, trainer).state.value
    'holds'
    """
    first, second = rows(trainer), rows(engine)
    counted = [[1.0] * len(row) for row in first] if mask is None else rows(mask)
    gaps = {at: _mean_gap(first, second, counted, at) for at in range(-most, most + 1)}
    known = {at: value for at, (value, tokens) in gaps.items() if tokens >= ONE_SIDED_TOKENS}
    if len(known) < len(gaps):
        return unseen("shifted", f"{gaps[0][1]} tokens are too few", tokens=gaps[0][1])
    best = min(known, key=lambda at: (known[at], abs(at)))
    details = {"in_place": known[0], "moved": known[best], "tokens": gaps[best][1]}
    off = known[best] <= HEALTHY_UNTOLD and known[0] > max(TIMES_BEFORE * known[best], HEALTHY_UNTOLD)
    reason = f"trainer and engine differ by {known[0]:.3g} a token, by {known[best]:.3g} at an offset of {best}"
    return Verdict("shifted", BROKEN if off else HOLDS, float(best if off else 0), 0.0, reason, details)


def _mean_gap(
    first: Sequence[Any], second: Sequence[Any], mask: Sequence[Any], at: int
) -> tuple[float, int]:  # fmt: skip
    """The mean |d| of each token of one side and the one `at` places behind it on the other, and of how many."""
    found = []
    for one, other, counts in zip(first, second, mask):  # noqa: B905 - Python 3.9
        for place in range(max(0, -at), min(len(one), len(other) - at)):
            a, b = one[place], other[place + at]
            if counts[place] > 0.5 and a is not None and b is not None and math.isfinite(a) and math.isfinite(b):
                found.append(abs(a - b))
    return (math.fsum(found) / len(found) if found else math.nan), len(found)


def _gaps(one: Any, other: Any, mask: Any) -> Any:
    """|d| of the tokens that count and that both sides know."""
    first, second, chosen = vectors(one, other, mask)
    good = finite(first) & finite(second) & kept(chosen, first)
    return abs(first[good] - second[good])


def _located(
    trainer: Any, engine: Any, mask: Any, positions: Any, classes: Optional[Sequence[Any]]
) -> tuple[Any, Any, dict[str, float], int]:
    """|d| with the positions, the mean by class, and how many tokens one of the two sides does not know."""
    places = positions_of(trainer) if positions is None else positions
    named = [str(each) for each in _names(classes)] if classes is not None else []
    wanted = sorted(set(named))
    numbers = [float(wanted.index(each)) for each in named] if named else None
    first, second, chosen = vectors(trainer, engine, mask)
    wide = kept(chosen, first)
    good = finite(first) & finite(second) & wide
    gaps = abs(first[good] - second[good])
    at = _like(first, places)[good]
    kinds: dict[str, float] = {}
    if numbers is not None:
        of = _like(first, numbers)[good]
        kinds = {name: mean(gaps[of == float(number)]) for number, name in enumerate(wanted) if count(of == number)}
    return gaps, at, kinds, count(wide) - len(gaps)


def _names(classes: Any) -> Any:
    for each in classes:
        if isinstance(each, (list, tuple)):
            yield from each
        else:
            yield each


def _like(vector: Any, values: Any) -> Any:
    """Values as a vector of the same kind as another one.

    Raises:
        ValueError: they are of another length.

    """
    (made,) = vectors(values)
    if type(made) is not type(vector):
        numbers = made.tolist()
        if hasattr(vector, "new_tensor"):
            made = vector.new_tensor(numbers)
        elif hasattr(vector, "astype"):
            made = vector * 0.0
            made[:] = numbers
        else:
            (made,) = vectors(numbers)
    if len(made) != len(vector):
        raise ValueError(f"{len(made)} places or classes for {len(vector)} tokens")
    return made


def _buckets(gaps: Any, at: Any) -> list[tuple[float, float, int]]:
    """Mean, deviation and size of the gaps in equal parts of the range of positions; none where it is short."""
    low, high = -float((at * -1.0).max()), float(at.max())
    width = (high - low + 1.0) / BUCKETS
    if width < 1.0:
        return []
    parts = []
    for number in range(BUCKETS):
        part = gaps[(at >= low + number * width) & (at < low + (number + 1) * width)]
        parts.append((mean(part), deviation(part), len(part)))
    return parts


def _grows(buckets: list[tuple[float, float, int]]) -> bool:
    """Whether the last bucket is above the first by more than chance, and above what bf16 explains."""
    if not buckets or min(buckets[0][2], buckets[-1][2]) < BUCKET_TOKENS:
        return False
    (first, spread, size), (last, wide, many) = buckets[0], buckets[-1]
    error = math.sqrt(spread * spread / size + wide * wide / many)
    return last > HEALTHY_UNTOLD / 2 and last >= TIMES_FIRST * first and last - first > ERRORS * error

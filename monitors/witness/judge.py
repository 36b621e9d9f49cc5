"""What a round proves: from the scores of both sides to verdicts, and from those to findings. Touches nothing.

Runs inside the patient: Python 3.9, the standard library.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Collection, Mapping, Optional, Sequence

from doctor.base.record import replace
from doctor.catalogue.finding import Finding
from doctor.checks.witness import (
    adapter_not_in_engine,
    engine_cache_outlives_weights,
    engine_not_the_policy,
    rewards_of_failed_episodes,
    sampled_logps_renormalised,
    trained_tokens_not_sampled,
)
from doctor.monitors.witness.asked import Continued, Logps
from doctor.monitors.witness.seen import Fixed, Round
from doctor.oracles.episodes import Episodes, episode, infrastructure
from doctor.oracles.logps import healthy_gap, logp_agreement, renewed, renormalised, same_path, tempered
from doctor.oracles.sampling import staleness
from doctor.oracles.tokens import mask_audit, same_tokens, turn_separators
from doctor.oracles.verdict import BROKEN, DOUBTFUL, HOLDS, UNSEEN, Verdict

#: tokens that neither side takes for likelier than this say more of a precision than of the weights
UNLIKELY = -12.0

#: scores are those of another state where they are three times nearer to it
NEARER = 3.0

#: an adapter that changes a token by less than this cannot be told from its absence
LEAST_EFFECT = 0.005

#: fewer tokens of a batch than this say little about a class or a place
BATCH_TOKENS = 64

Rows = Sequence[Logps]


@dataclass
class Held:
    """What the engine gave the fixed sequences at an earlier step, behind so many pushes."""

    step: int
    pushes: int
    scores: Rows


@dataclass
class Known:
    """What earlier rounds found out.

    Args:
        noise: mean |d| of the engine against itself.
        baseline: mean |d| between both sides before the first update; None where the run did not begin there.
        identity: the engine's scores before anything was pushed.
        precision: of the engine, or of the policy where it does not tell.
        past: (step, what the policy gave the fixed sequences then), the oldest first.
        cached: mean |d| of the engine with and without its prefix cache before the first update.
        suspected: step of the last round in which its prefix cache was too far from no cache for what was seen before.
        versions: the engine's word on its weights -> the step at which it was first heard.
        episodes: counts over all episodes that were shown.
        held: the engine's own scores of an earlier round, where the policy gives none.

    """

    noise: float = 0.0
    baseline: Optional[float] = None
    identity: Optional[Rows] = None
    precision: Optional[str] = None
    past: list[tuple[int, Rows]] = field(default_factory=list)
    cached: Optional[float] = None
    suspected: Optional[int] = None
    versions: dict[str, int] = field(default_factory=dict)
    episodes: Episodes = field(default_factory=Episodes)
    held: Optional[Held] = None


@dataclass
class Judged:
    """Verdicts by what they are about, and findings, the most basic one first."""

    verdicts: dict[str, Verdict] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


@dataclass
class Batch:
    """A batch that is trained on; what is not known is None.

    Args:
        engine_ids: sequences as the engine had them, prompt and answer.
        trained_ids: sequences as the loss has them.
        trained_mask: of those, 1 where the loss counts a token.
        sampled_mask: 1 where the policy sampled it.
        sampled_logps: log probabilities that the engine gave, one row an answer.
        trained_logps: those of the trainer for the same tokens.
        mask: of those two, 1 where a token counts.
        classes: of those two, the kind of each token.
        answers: what was said in each episode behind its prompt: texts or lists of messages.
        rewards: that they were graded with; None or NaN: left out.
        ends: ids that close a turn; None: the tokenizer's special ones.

    """

    engine_ids: Optional[Sequence[Sequence[int]]] = None
    trained_ids: Optional[Sequence[Sequence[int]]] = None
    trained_mask: Any = None
    sampled_mask: Any = None
    sampled_logps: Any = None
    trained_logps: Any = None
    mask: Any = None
    classes: Optional[Sequence[Sequence[str]]] = None
    answers: Optional[Sequence[Any]] = None
    rewards: Optional[Sequence[Optional[float]]] = None
    ends: Optional[Collection[int]] = None


def judge(seen: Round, fixed: Fixed, known: Known) -> Judged:
    """Judge one round by itself and by what earlier ones found."""
    judged = Judged()
    agreement = _agreement(seen, fixed, known)
    if agreement is not None:
        judged.verdicts["agreement"] = agreement
    if not seen.pushes:
        if seen.moved is not None:
            _caches(seen, known, judged)  # what they differ by where nothing can be of earlier weights
        return Judged(judged.verdicts)  # a resumed run has not given the engine its checkpoint yet
    if seen.weights is not None:
        judged.verdicts["weights"] = seen.weights
    finding = _of_policy(seen, fixed, known, agreement)
    if finding is not None:
        judged.findings.append(finding)
    if finding is None or seen.weights is not None:
        _identity(seen, known, judged)
    _renewed(seen, known, judged)
    _caches(seen, known, judged)
    _version(seen, known, judged)
    return judged


def _version(seen: Round, known: Known, judged: Judged) -> None:
    """The engine's own word, once it has moved: nobody need keep it, so that scores which agree count for more."""
    word = seen.asked.version
    if word is None:
        return
    first = known.versions.get(word, seen.step)
    moved = len(known.versions) > 1
    verdict = staleness([first if moved else seen.step], seen.step)
    judged.verdicts["version"] = verdict
    if verdict.state is BROKEN and "agreement" not in judged.verdicts:
        judged.findings.append(engine_not_the_policy.of_step(seen.step, first, verdict))


def _agreement(seen: Round, fixed: Fixed, known: Known) -> Optional[Verdict]:
    """Both sides on the answers of the fixed sequences, or on what the engine has just continued."""
    if seen.trained is None:
        return None
    if seen.asked.scored is not None:
        first, second, mask = seen.trained, seen.asked.scored, fixed.answers
    elif seen.continued is not None and seen.asked.plain is not None:
        second = [[None] * len(each) for each in fixed.prompts]
        for row, told in zip(second, seen.asked.plain):  # noqa: B905 - Python 3.9
            row.extend(told.logps)
        first = seen.continued
        second = [row[: len(each)] for row, each in zip(second, first)]  # noqa: B905
        mask = [[1.0] * len(each) for each in first]
    else:
        return None
    chosen = [
        [float(keep and _likely(a, b)) for keep, a, b in zip(*rows)]  # noqa: B905 - Python 3.9
        for rows in zip(mask, first, second)  # noqa: B905
    ]
    baseline = known.baseline if seen.step else None
    return logp_agreement(first, second, chosen, before=baseline, noise=known.noise, precision=known.precision)


def _likely(one: Optional[float], other: Optional[float]) -> bool:
    return max(-1e9 if one is None else one, -1e9 if other is None else other) > UNLIKELY


def _of_policy(seen: Round, fixed: Fixed, known: Known, agreement: Optional[Verdict]) -> Optional[Finding]:
    """The finding that the engine is not the policy, with the most that is known of what it is instead."""
    weights = seen.weights
    off = agreement is not None and (
        agreement.state is BROKEN or (agreement.state is DOUBTFUL and not agreement.details.get("grows"))
    )
    told = _whose(seen, fixed, known, agreement) if off and agreement is not None else None
    if told is not None and (weights is None or weights.state is not BROKEN):
        return told
    if weights is not None and weights.state is BROKEN:
        return engine_not_the_policy.other_weights(seen.step, weights, agreement if off else None)
    if off and agreement is not None:
        return engine_not_the_policy.differs(seen.step, agreement, healthy_gap(known.precision))
    return None


def _whose(seen: Round, fixed: Fixed, known: Known, agreement: Verdict) -> Optional[Finding]:
    """Whose scores the engine gives, where they are those of the policy without its adapter or at an earlier step."""
    held, mine = seen.asked.scored, seen.trained
    if held is None or mine is None:
        return None
    near = agreement.value / NEARER
    if seen.base is not None:
        effect = _distance(mine, seen.base, fixed)
        if effect > LEAST_EFFECT and _distance(held, seen.base, fixed) <= near:
            return adapter_not_in_engine.dropped(seen.step, effect, agreement)
    distances = [(_distance(held, scores, fixed), step) for step, scores in known.past if step < seen.step]
    best, past = min(distances, default=(agreement.value, -1))
    if best > near:
        if seen.base is None or seen.asked.base is None or _distance(seen.base, seen.asked.base, fixed) > near:
            return None
        return adapter_not_in_engine.other(seen.step, agreement)  # the model below it is the same on both sides
    if seen.base is not None:
        return adapter_not_in_engine.kept(seen.step, past, agreement)
    return engine_not_the_policy.of_step(seen.step, past, agreement)


def _distance(one: Rows, other: Rows, fixed: Fixed) -> float:
    return logp_agreement(one, other, fixed.answers).value


def _identity(seen: Round, known: Known, judged: Judged) -> None:
    """Before the first update, a push changes nothing."""
    if seen.step or not seen.pushes or known.identity is None or seen.asked.scored is None:
        return
    verdict = same_path(
        known.identity, seen.asked.scored, noise=known.noise, precision=known.precision,
        what="before and after the push of unmodified weights, scores",
    )  # fmt: skip
    judged.verdicts["identity"] = verdict
    if verdict.state is BROKEN and not judged.findings:
        judged.findings.append(engine_not_the_policy.changed_by_push(seen.step, verdict))


def _renewed(seen: Round, known: Known, judged: Judged) -> None:
    """The engine against itself at an earlier push, where nothing but its own scores is known."""
    held, scored = known.held, seen.asked.scored
    if seen.moved is None or held is None or scored is None:
        return
    if seen.step != held.step:
        verdict = judged.verdicts["renewed"] = renewed(held.scores, scored, seen.moved)
        if verdict.state is BROKEN:
            judged.findings.append(engine_not_the_policy.not_renewed(seen.step, held.step, verdict))
    elif seen.pushes != held.pushes:
        verdict = judged.verdicts["identity"] = same_path(
            held.scores, scored, noise=known.noise, precision=known.precision,
            what="before and after a second push of the same weights, scores",
        )  # fmt: skip
        if verdict.state is BROKEN:
            judged.findings.append(engine_not_the_policy.changed_by_second_push(seen.step, verdict))


def _caches(seen: Round, known: Known, judged: Judged) -> None:
    """The caches of the engine, each way against another one through the same weights."""
    told = seen.asked
    decoded = _decoded(seen, known)
    if told.plain is not None and told.salted is not None:
        verdict = _prefix_cache(seen, known, decoded)
        judged.verdicts["prefix-cache"] = verdict
        if verdict.state is BROKEN:
            judged.findings.append(engine_cache_outlives_weights.prefix_cache(seen.step, verdict))
    elif decoded is not None:  # no salt leads past the cache, but a prefill for scores does

        def judged_by(before: float) -> Verdict:
            again = _decoded(seen, known, before)
            return decoded if again is None else again

        verdict = _strictly(seen, known, decoded, known.cached, judged_by)
        judged.verdicts["prefix-cache"] = verdict
        if verdict.state is BROKEN and seen.pushes:
            judged.findings.append(engine_cache_outlives_weights.either(seen.step, verdict))
        return
    if decoded is not None and "prefix-cache" in judged.verdicts:
        judged.verdicts["decode"] = decoded
        if decoded.state is BROKEN:
            judged.findings.append(engine_cache_outlives_weights.decode_state(seen.step, decoded))


def _prefix_cache(seen: Round, known: Known, decoded: Optional[Verdict]) -> Verdict:
    """With the cache against a salt of its own: by what the precision explains, by what was seen where all was well.

    The gap is also held against that of another two ways through the engine at the same moment, which is as large where
    the engine is busy or rounds.
    """
    one, other = _shared(seen.asked.plain or (), seen.asked.salted or ())

    def judged(before: Optional[float]) -> Verdict:
        what = "with the prefix cache and with a separate cache salt, scores"
        return same_path(one, other, noise=known.noise, precision=known.precision, before=before, what=what)

    before = None if known.cached is None or decoded is None else max(known.cached, decoded.value)
    return _strictly(seen, known, judged(None), before, judged)


def _strictly(
    seen: Round, known: Known, verdict: Verdict, before: Optional[float], judged: Callable[[float], Verdict]
) -> Verdict:  # fmt: skip
    """The verdict by what was seen before the first update, which is told once it has come in two rounds running.

    A block of old weights changes little as long as they have moved little, and less than a precision explains.
    """
    if verdict.state is not HOLDS or not seen.step or before is None:
        return verdict
    strict = judged(before)
    return (
        replace(strict, state=DOUBTFUL) if strict.state is BROKEN and known.suspected in (None, seen.step) else strict
    )


def _decoded(seen: Round, known: Known, before: Optional[float] = None) -> Optional[Verdict]:
    """Tokens as they were decoded and in a prefill; None where the engine did not tell both."""
    told = seen.asked
    continued = told.salted or told.plain
    if continued is None or told.refilled is None:
        return None
    decoded = [each.logps for each in continued]
    refilled = [row[len(row) - len(each) :] for row, each in zip(told.refilled, decoded)]  # noqa: B905 - Python 3.9
    return same_path(
        decoded, refilled, noise=known.noise, precision=known.precision, before=before,
        what=f"{len(continued[0].ids)} tokens as they were decoded and in a prefill",
    )  # fmt: skip


def _shared(plain: Sequence[Continued], salted: Sequence[Continued]) -> tuple[list[float], list[float]]:
    """Log probabilities of the tokens that both name, as long as both have the same tokens behind them."""
    one, other = [], []
    for first, second in zip(plain, salted):  # noqa: B905 - Python 3.9
        for at, (mine, yours) in enumerate(zip(first.places, second.places)):  # noqa: B905
            if first.ids[:at] != second.ids[:at]:
                break
            both = sorted(mine.keys() & yours.keys())
            one += [mine[each] for each in both]
            other += [yours[each] for each in both]
    return one, other


def judge_batch(
    batch: Batch, step: int, known: Known, names: Callable[[int], str] = str, *, alike: Optional[bool] = True,
    alone: bool = False,
) -> Judged:  # fmt: skip
    """Judge a batch that is trained on.

    Args:
        batch: what is known of it.
        step: optimizer steps made.
        known: of earlier rounds.
        names: shows a token.
        alike: whether the same tokens were given the same by both sides, so that weights explain nothing here; None:
            that is not known yet, and only what no weights explain is told.
        alone: whether the batch is all that will ever tell of the weights.

    """
    judged = Judged()
    if batch.answers is not None and batch.rewards is not None:
        pairs = zip(batch.answers, batch.rewards)  # noqa: B905 - Python 3.9
        known.episodes.extend(episode(answer, reward) for answer, reward in pairs)
        judged.verdicts["episodes"] = infrastructure(known.episodes)
    judged.findings += rewards_of_failed_episodes.judged(known.episodes, "witness", step)
    told = len(judged.findings)
    _sequences(batch, step, names, judged)
    both = batch.sampled_logps is not None and batch.trained_logps is not None
    if both and alike is not False and len(judged.findings) == told:
        _batch_logps(batch, step, known, judged, alike=None if alone else alike, alone=alone)
    return judged


def _sequences(batch: Batch, step: int, names: Callable[[int], str], judged: Judged) -> None:
    if batch.engine_ids is not None and batch.trained_ids is not None:
        rows = batch.trained_ids
        if batch.trained_mask is not None:
            rows = [_until_last(ids, mask) for ids, mask in zip(rows, batch.trained_mask)]  # noqa: B905 - Python 3.9
        verdict = same_tokens(batch.engine_ids, [each for each in rows if len(each)])
        judged.verdicts["sequences"] = verdict
        if verdict.state is BROKEN:
            judged.findings.append(trained_tokens_not_sampled.other_sequence(step, verdict, names))
            return
    if batch.trained_ids is not None and batch.trained_mask is not None and batch.sampled_mask is not None:
        verdict = mask_audit(batch.trained_ids, batch.trained_mask, batch.sampled_mask)
        judged.verdicts["mask"] = verdict
        if verdict.state is BROKEN and verdict.value > 0:
            judged.findings.append(trained_tokens_not_sampled.masked_wrongly(step, verdict))
            return
    whose = batch.trained_mask if batch.sampled_mask is None else batch.sampled_mask
    if batch.trained_ids is not None and whose is not None and batch.ends:
        verdict = turn_separators(batch.trained_ids, whose, batch.ends)
        if verdict.state is not UNSEEN:  # most batches have no turns
            judged.verdicts["separators"] = verdict
        if verdict.state is BROKEN:
            judged.findings.append(trained_tokens_not_sampled.without_separator(step, verdict, names))


def _until_last(ids: Sequence[int], mask: Sequence[Any]) -> list[int]:
    """Ids up to the last trained one: that one was sampled, so the engine had the whole."""
    last = max((at for at, each in enumerate(mask) if each), default=-1)
    return list(ids[: last + 1])


def _batch_logps(batch: Batch, step: int, known: Known, judged: Judged, *, alike: Optional[bool], alone: bool) -> None:
    first, second = batch.trained_logps, batch.sampled_logps
    agreement = logp_agreement(
        first, second, batch.mask, classes=batch.classes, noise=known.noise, precision=known.precision
    )
    judged.verdicts["batch"] = agreement
    if agreement.details.get("tokens", 0) < BATCH_TOKENS or agreement.state is HOLDS:
        return
    one_sided = renormalised(first, second, batch.mask, noise=known.noise)
    judged.verdicts["renormalised"] = one_sided
    if one_sided.state is BROKEN:
        judged.findings.append(sampled_logps_renormalised.cut(step, one_sided))
        return
    other = tempered(first, second, batch.mask)
    judged.verdicts["tempered"] = other
    if other.state is BROKEN and not agreement.details.get("grows"):
        judged.findings.append(sampled_logps_renormalised.of_other_temperature(step, other))
    elif alone and not agreement.details.get("grows"):
        healthy = healthy_gap(known.precision)
        judged.findings.append(engine_not_the_policy.differs(step, agreement, healthy))
    elif agreement.state in (BROKEN, DOUBTFUL) and (alike or alone):
        judged.findings.append(trained_tokens_not_sampled.of_place(step, agreement))


def as_event(verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
    """Verdicts as the run folder keeps them."""
    kept = {}
    for name, each in verdicts.items():
        told = each.as_dict()
        kept[name] = {key: told[key] for key in ("state", "value", "limit", "reason")}
    return kept

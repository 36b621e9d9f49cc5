"""Whether a setup fits, and the first thing to change when it does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from doctor.core.record import record
from doctor.sizing import engine
from doctor.sizing.budget import Budget, budget_of
from doctor.sizing.setup import Lora, Rollout, Setup

#: from well to ill; "unsure" may fit: the limit lies within the uncertainty
FITS, UNSURE, TOO_LARGE = "fits", "unsure", "too-large"
_SERIOUS = (FITS, UNSURE, TOO_LARGE)
_MOST_CHANGES, _NOTICEABLE = 8, 0.005
_OTHER_TRAINING = {"lora", "length"}


@record
class Verdict:
    """A judgement of one budget.

    Args:
        word: "fits" (also with the upper estimate), "unsure", or "too-large" (also with the lower one).
        gpu, host, cache: the same word for each thing judged; None: nothing to judge it by.
        room: share of the GPU that is left, negative when it does not do.

    """

    word: str
    gpu: str
    host: str | None
    cache: str | None
    room: float


@record
class Change:
    """A change of one setting: a key for its words, the values before and after, and the setup that comes of it."""

    key: str
    before: str
    after: str
    setup: Setup


@record
class Advice:
    """What to change: the changes in order, and whether with all of them it fits."""

    changes: tuple[Change, ...]
    verdict: Verdict


def judge(setup: Setup, budget: Budget) -> Verdict:
    """Compare the peak with the GPU, the host's part with its memory, and the engine's cache with one completion."""
    limit = setup.hardware.gpu_bytes
    peak = max(budget.phases, key=lambda each: each.likely)
    highest, lowest = max(each.high for each in budget.phases), max(each.low for each in budget.phases)
    gpu = FITS if highest <= limit else TOO_LARGE if lowest > limit else UNSURE
    host = None
    if budget.host.likely and setup.hardware.host_bytes:
        memory = setup.hardware.host_bytes
        host = FITS if budget.host.high * 1.5 <= memory else TOO_LARGE if budget.host.low > memory else UNSURE
    cache = None
    if budget.engine is not None:
        served = budget.engine
        cache = TOO_LARGE if served.sequences < 1 else FITS if served.cache > served.working else UNSURE
    words = [each for each in (gpu, host, cache) if each is not None]
    return Verdict(max(words, key=_SERIOUS.index), gpu, host, cache, (limit - peak.likely) / limit)


def verdict_of(setup: Setup) -> Verdict:
    """Judge a setup."""
    return judge(setup, budget_of(setup))


def smallest_strategy(setup: Setup, *, may_offload: bool = True) -> Setup:
    """The least that fits: copies first, then ZeRO 2, ZeRO 3, then the host's memory.

    Where nothing fits for sure, the first that may; else the one that goes farthest.
    """
    ladder: list[tuple[str, bool, bool]] = (
        [("single", False, False)] if setup.trainers == 1 else [("ddp", False, False), ("zero2", False, False)]
    )
    if setup.trainers > 1:
        ladder.append(("zero3", False, False))
    if may_offload:
        ladder += [("zero2", True, False), ("zero3", True, False), ("zero3", True, True)]
    tried = [
        replace(setup, strategy=name, offload_optimizer=optimizer, offload_parameters=parameters)
        for name, optimizer, parameters in ladder
    ]
    # the engine's cache is not the strategy's business
    words = [max(found.gpu, found.host or FITS, key=_SERIOUS.index) for found in map(verdict_of, tried)]
    for wanted in (FITS, UNSURE):
        if wanted in words:
            return tried[words.index(wanted)]
    return tried[-1]


def advise(setup: Setup) -> Advice | None:
    """The first single change that makes it fit; else changes one upon another.

    None when it fits already.
    """
    now = verdict_of(setup)
    if now.word == FITS:
        return None
    for change in _changes(setup):
        found = verdict_of(change.setup)
        if found.word == FITS:
            return Advice((change,), found)
    return _together(setup, now)


def _together(setup: Setup, now: Verdict) -> Advice | None:
    """Change after change, each the one that helps most, until it fits or nothing helps.

    What changes the training itself (an adapter instead of all weights, shorter completions) comes last.
    """
    taken: list[Change] = []
    while now.word != FITS and len(taken) < _MOST_CHANGES:
        helpful = [(verdict_of(each.setup), each) for each in _changes(setup)]
        better = [pair for pair in helpful if _helps(pair[0], now)]
        better = [pair for pair in better if pair[1].key not in _OTHER_TRAINING] or better
        if not better:
            break
        now, best = max(better, key=lambda pair: (-_SERIOUS.index(pair[0].word), pair[0].room))
        taken.append(best)
        setup = best.setup
    return Advice(tuple(taken), now) if taken else None


def _helps(then: Verdict, now: Verdict) -> bool:
    """Whether a change makes the word better, or gives room without making the word worse."""
    rank_then, rank_now = _SERIOUS.index(then.word), _SERIOUS.index(now.word)
    return rank_then < rank_now or (rank_then == rank_now and then.room > now.room + _NOTICEABLE)


def _changes(setup: Setup) -> Iterator[Change]:
    """Single changes, in the order of what they cost: first those that change neither results nor speed."""
    if not setup.checkpointing:
        yield Change("checkpointing", "false", "true", replace(setup, checkpointing=True))
    if setup.head == "full":
        yield Change("head", "full", "chunked", replace(setup, head="chunked"))
    yield from _engine_changes(setup)
    if setup.batch > 1:
        half = setup.batch // 2
        steps = setup.steps_per_generation * 2 if setup.steps_per_generation else None
        yield Change(
            "batch", f"{setup.batch} x {setup.accumulation}", f"{half} x {setup.accumulation * 2}",
            replace(setup, batch=half, accumulation=setup.accumulation * 2, steps_per_generation=steps),
        )  # fmt: skip
    yield from _strategy_changes(setup)
    if setup.attention == "eager":
        yield Change("attention", "eager", "sdpa", replace(setup, attention="sdpa"))
    if setup.weights == "float32" and not setup.deepspeed and setup.lora is not None:
        yield Change("weights", "float32", "bfloat16", replace(setup, weights="bfloat16"))
    if setup.lora is None:
        yield Change("lora", "-", "16", replace(setup, lora=Lora(16), weights="bfloat16"))
    if setup.completion_length > 512:
        half = setup.completion_length // 2
        yield Change("length", str(setup.completion_length), str(half), replace(setup, completion_length=half))


def _engine_changes(setup: Setup) -> Iterator[Change]:
    rollout = setup.rollout
    if rollout.engine == "none":
        return
    served = engine.of(setup, rollout.tensor_parallel)
    if rollout.engine == "colocate" and not rollout.sleep:
        yield Change("sleep", "false", "true", replace(setup, rollout=replace(rollout, sleep=True)))
    for share in _other_shares(rollout, served):
        yield Change("share", f"{rollout.share:g}", f"{share:g}", replace(setup, rollout=replace(rollout, share=share)))
    if rollout.engine == "colocate":
        shape = setup.shape
        for ranks in engine.possible_ranks(shape.heads, shape.kv_heads, min(8, setup.hardware.gpus)):
            if ranks > rollout.tensor_parallel and setup.trainers % ranks == 0:
                changed = replace(setup, rollout=replace(rollout, tensor_parallel=ranks))
                yield Change("tensor_parallel", str(rollout.tensor_parallel), str(ranks), changed)


def _other_shares(rollout: Rollout, served: engine.Engine) -> Iterator[float]:
    """Shares of the GPU to try: more when the cache holds no completion, less when the trainer lacks room."""
    steps = [each / 20 for each in range(2, 19)]
    if served.sequences < 1:
        yield from (each for each in steps if each > rollout.share)
    elif served.cache > served.working:
        yield from (each for each in reversed(steps) if each < rollout.share)


def _strategy_changes(setup: Setup) -> Iterator[Change]:
    """Another way to share the states, each a step further than the present one."""
    ladder = [("zero2", False, False), ("zero3", False, False), ("zero2", True, False), ("zero3", True, False),
              ("zero3", True, True)]  # fmt: skip
    if setup.trainers == 1:
        ladder = ladder[2:]
    now = (setup.strategy, setup.offload_optimizer, setup.offload_parameters)
    if setup.strategy.startswith("fsdp"):
        if setup.strategy == "fsdp-grad-op":
            yield Change("strategy", "fsdp-grad-op", "fsdp", replace(setup, strategy="fsdp"))
        if not setup.offload_parameters:
            changed = replace(setup, offload_parameters=True)
            yield Change("strategy", "fsdp", "fsdp + offload_params", changed)
        return
    start = ladder.index(now) + 1 if now in ladder else 0
    for name, optimizer, parameters in ladder[start:]:
        changed = replace(setup, strategy=name, offload_optimizer=optimizer, offload_parameters=parameters)
        yield Change("strategy", spelled(setup), spelled(changed), changed)


def spelled(setup: Setup) -> str:
    """A strategy as people write it: `ZeRO-3, optimizer on the host`."""
    name = {"single": "1 GPU", "ddp": "DDP", "fsdp": "FSDP", "fsdp-grad-op": "FSDP SHARD_GRAD_OP"}.get(
        setup.strategy, f"ZeRO-{setup.stage}"
    )
    moved = [
        *(["optimizer"] if setup.offload_optimizer else []),
        *(["params"] if setup.offload_parameters else []),
    ]
    return f"{name} + offload {'+'.join(moved)}" if moved else name

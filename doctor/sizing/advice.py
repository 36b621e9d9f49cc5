"""What to change where it does not fit: the cheapest settings that do, or those that go farthest."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.base.record import replace
from doctor.sizing import engine
from doctor.sizing.search import cheapest, holding_shares
from doctor.sizing.setup import Lora, Rollout, Setup
from doctor.sizing.verdict import FITS, SERIOUS, Advice, FitVerdict, SettingChange, spelled, verdict_of

_MOST_CHANGES, _NOTICEABLE = 8, 0.005
_OTHER_TRAINING = {"lora", "length"}


def advise(setup: Setup) -> Advice | None:
    """The cheapest changes that make it fit, with others behind them; else those that go farthest.

    None when it fits already, or when nothing helps.
    """
    now = verdict_of(setup)
    if now.word == FITS:
        return None
    found = cheapest(setup)
    if found:
        return replace(found[0], others=found[1:])
    return _together(setup, now)


def _together(setup: Setup, now: FitVerdict) -> Advice | None:
    """Change after change, each the one that helps most, until it fits or nothing helps.

    What changes the training itself (an adapter instead of all weights, shorter completions) comes last.
    """
    taken: list[SettingChange] = []
    while now.word != FITS and len(taken) < _MOST_CHANGES:
        helpful = [(verdict_of(each.setup), each) for each in _changes(setup)]
        better = [pair for pair in helpful if _helps(pair[0], now)]
        better = [pair for pair in better if pair[1].key not in _OTHER_TRAINING] or better
        if not better:
            break
        now, best = max(better, key=lambda pair: (-SERIOUS.index(pair[0].word), pair[0].room))
        taken.append(best)
        setup = best.setup
    return Advice(tuple(taken), now) if taken else None


def _helps(then: FitVerdict, now: FitVerdict) -> bool:
    """Whether a change makes the word better, or gives room without making the word worse."""
    rank_then, rank_now = SERIOUS.index(then.word), SERIOUS.index(now.word)
    return rank_then < rank_now or (rank_then == rank_now and then.room > now.room + _NOTICEABLE)


def _changes(setup: Setup) -> Iterator[SettingChange]:
    """Single changes, in the order of what they cost: first those that change neither results nor speed."""
    if not setup.checkpointing:
        yield SettingChange("checkpointing", "false", "true", replace(setup, checkpointing=True))
    if setup.head == "full":
        yield SettingChange("head", "full", "chunked", replace(setup, head="chunked"))
    yield from _engine_changes(setup)
    if setup.batch > 1:
        half = setup.batch // 2
        steps = setup.steps_per_generation * 2 if setup.steps_per_generation else None
        yield SettingChange(
            "batch", f"{setup.batch} x {setup.accumulation}", f"{half} x {setup.accumulation * 2}",
            replace(setup, batch=half, accumulation=setup.accumulation * 2, steps_per_generation=steps),
        )  # fmt: skip
    yield from _strategy_changes(setup)
    if setup.attention == "eager":
        yield SettingChange("attention", "eager", "sdpa", replace(setup, attention="sdpa"))
    if setup.weights == "float32" and not setup.deepspeed and setup.lora is not None:
        dtype = setup.hardware.half
        yield SettingChange("weights", "float32", dtype, replace(setup, weights=dtype))
    if setup.lora is None:
        yield SettingChange("lora", "-", "16", replace(setup, lora=Lora(16), weights=setup.hardware.half))
    if setup.completion_length > 512:
        half = setup.completion_length // 2
        yield SettingChange("length", str(setup.completion_length), str(half), replace(setup, completion_length=half))


def _engine_changes(setup: Setup) -> Iterator[SettingChange]:
    rollout = setup.rollout
    if rollout.engine == "none":
        return
    served = engine.of(setup, rollout.tensor_parallel)
    if rollout.engine == "colocate" and not rollout.sleep:
        yield SettingChange("sleep", "false", "true", replace(setup, rollout=replace(rollout, sleep=True)))
    for share in _other_shares(setup, rollout, served):
        yield SettingChange(
            "share", f"{rollout.share:g}", f"{share:g}", replace(setup, rollout=replace(rollout, share=share))
        )
    if rollout.engine == "colocate":
        shape = setup.shape
        for ranks in engine.possible_ranks(shape.heads, shape.kv_heads, min(8, setup.hardware.gpus)):
            if ranks > rollout.tensor_parallel and setup.trainers % ranks == 0:
                changed = replace(setup, rollout=replace(rollout, tensor_parallel=ranks))
                yield SettingChange("tensor_parallel", str(rollout.tensor_parallel), str(ranks), changed)


def _other_shares(setup: Setup, rollout: Rollout, served: engine.EngineMemory) -> Iterator[float]:
    """Shares of the GPU to try: more when the cache holds no completion, less when the trainer lacks room."""
    steps = list(holding_shares(setup))
    if served.sequences < 1:
        yield from (each for each in steps if each > rollout.share)
    elif served.cache > served.working:
        yield from (each for each in reversed(steps) if each < rollout.share)


def _strategy_changes(setup: Setup) -> Iterator[SettingChange]:
    """Another way to share the states, each a step further than the present one."""
    ladder = [("zero2", False, False), ("zero3", False, False), ("zero2", True, False), ("zero3", True, False),
              ("zero3", True, True)]  # fmt: skip
    if setup.trainers == 1:
        ladder = ladder[2:]
    now = (setup.strategy, setup.offload_optimizer, setup.offload_parameters)
    if setup.strategy.startswith("fsdp"):
        if setup.strategy == "fsdp-grad-op":
            yield SettingChange("strategy", "fsdp-grad-op", "fsdp", replace(setup, strategy="fsdp"))
        if not setup.offload_parameters:
            changed = replace(setup, offload_parameters=True)
            yield SettingChange("strategy", "fsdp", "fsdp + offload_params", changed)
        return
    start = ladder.index(now) + 1 if now in ladder else 0
    for name, optimizer, parameters in ladder[start:]:
        changed = replace(setup, strategy=name, offload_optimizer=optimizer, offload_parameters=parameters)
        yield SettingChange("strategy", spelled(setup), spelled(changed), changed)

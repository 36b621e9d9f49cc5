"""Whether a setup fits."""

from __future__ import annotations

from doctor.base.record import record, replace
from doctor.sizing.budget import Budget, budget_of
from doctor.sizing.setup import Setup

#: from well to ill; "unsure" may fit: the limit is within the uncertainty
FITS, UNSURE, TOO_LARGE = "fits", "unsure", "too-large"
SERIOUS = (FITS, UNSURE, TOO_LARGE)


@record
class FitVerdict:
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
class SettingChange:
    """A change of one setting: a key for its words, the values before and after, and the setup that comes of it."""

    key: str
    before: str
    after: str
    setup: Setup


@record
class Advice:
    """What to change: the changes in order, whether with all of them it fits, and what would do instead."""

    changes: tuple[SettingChange, ...]
    verdict: FitVerdict
    others: tuple[Advice, ...] = ()


def judge(setup: Setup, budget: Budget) -> FitVerdict:
    """Compare the peak with the GPU, the host's part with its memory, and the engine's cache with one completion."""
    limit = setup.hardware.gpu_bytes
    peak = max(budget.phases, key=lambda each: each.likely)
    highest, lowest = max(each.high for each in budget.phases), max(each.low for each in budget.phases)
    gpu = FITS if highest <= limit else TOO_LARGE if lowest > limit else UNSURE
    host = None
    if setup.hardware.host_bytes:
        memory = setup.hardware.host_bytes
        host = FITS if budget.host.high <= memory else TOO_LARGE if budget.host.low > memory else UNSURE
    cache = None
    if budget.engine is not None:
        served = budget.engine
        cache = TOO_LARGE if served.sequences < 1 else FITS if served.cache > served.working else UNSURE
    words = [each for each in (gpu, host, cache) if each is not None]
    return FitVerdict(max(words, key=SERIOUS.index), gpu, host, cache, (limit - peak.likely) / limit)


def verdict_of(setup: Setup) -> FitVerdict:
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
    words = [max(found.gpu, found.host or FITS, key=SERIOUS.index) for found in map(verdict_of, tried)]
    for wanted in (FITS, UNSURE):
        if wanted in words:
            return tried[words.index(wanted)]
    return tried[-1]


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

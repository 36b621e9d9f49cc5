"""Searches the settings of a run for the cheapest ones that fit.

A setting is changed by a move, and a move has a price: what it costs in speed, or in what is trained. Prices are an
order, no measurement: first what changes neither (kernels, the share of the engine, smaller pieces of the same step),
then communication and recomputation, then the host's memory, then an engine that the trainer waits for, last what
changes the training itself (weights in 16 bit, a quantized base model, an adapter, shorter completions). All
combinations of one move for each setting are tried in the order of their price, up to a number of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from doctor.base.record import replace
from doctor.sizing import engine
from doctor.sizing.engine import SERVER_SHARE
from doctor.sizing.setup import Lora, Setup
from doctor.sizing.verdict import FITS, UNSURE, Advice, SettingChange, spelled, verdict_of

#: combinations that are tried, and those that are shown
MOST_TRIED, MOST_SHOWN = 6000, 3
_SHORTEST, _RANK = 512, 16


class Move(NamedTuple):
    """A change of one setting; `price` 0 and no key: it stays."""

    price: float
    key: str = ""
    make: Callable[[Setup], Setup | None] = lambda setup: setup


STAY = Move(0.0)


def cheapest(setup: Setup) -> tuple[Advice, ...]:
    """The cheapest combinations that fit, each with other settings than those before it; else one that may fit.

    None where none was found.
    """
    found: list[Advice] = []
    perhaps: Advice | None = None
    for tried, moves in enumerate(_in_order(_settings(setup))):
        if tried >= MOST_TRIED or len(found) >= MOST_SHOWN:
            break
        if any(_holds(each, moves) for each in found):
            continue
        changes = _applied(setup, moves)
        if not changes:
            continue
        verdict = verdict_of(changes[-1].setup)
        if verdict.word == FITS:
            found.append(Advice(changes, verdict))
        elif verdict.word == UNSURE and perhaps is None:
            perhaps = Advice(changes, verdict)
    return tuple(found) or ((perhaps,) if perhaps is not None else ())


def _holds(advice: Advice, moves: Sequence[Move]) -> bool:
    """Whether a dearer combination only adds to what fits already."""
    return {each.key for each in advice.changes} <= {each.key for each in moves}


def _in_order(settings: Sequence[Sequence[Move]]) -> Iterator[tuple[Move, ...]]:
    """All combinations of one move for each setting, by price; the settings' moves are in that order themselves."""
    start = (0,) * len(settings)
    heap, seen = [(0.0, start)], {start}
    while heap:
        _, places = heappop(heap)
        yield tuple(moves[at] for moves, at in zip(settings, places, strict=True))
        for number, at in enumerate(places):
            after = (*places[:number], at + 1, *places[number + 1 :])
            if at + 1 < len(settings[number]) and after not in seen:
                seen.add(after)
                heappush(heap, (sum(moves[one].price for moves, one in zip(settings, after, strict=True)), after))


def _applied(setup: Setup, moves: Sequence[Move]) -> tuple[SettingChange, ...]:
    """The changes one after another; () where one of them cannot be."""
    changes: list[SettingChange] = []
    for move in moves:
        if not move.key:
            continue
        changed = move.make(setup)
        if changed is None or changed == setup:
            return ()
        changes.append(SettingChange(move.key, *_told(move.key, setup, changed), changed))
        setup = changed
    return tuple(changes)


def _told(key: str, before: Setup, after: Setup) -> tuple[str, str]:
    """A setting before and after, as a sentence shows it."""
    told: dict[str, Callable[[Setup], str]] = {
        "strategy": spelled,
        "batch": lambda each: f"{each.batch} x {each.accumulation}",
        "share": lambda each: f"{each.rollout.share:g}",
        "tensor_parallel": lambda each: str(each.rollout.tensor_parallel),
        "engine_none": lambda each: each.rollout.engine,
        "engine_server": lambda each: each.rollout.engine,
        "length": lambda each: str(each.completion_length),
        "attention": lambda each: each.attention,
        "head": lambda each: each.head,
        "weights": lambda each: each.weights,
        "bits": lambda each: str(each.bits or "-"),
        "lora": lambda each: str(each.lora.rank) if each.lora else "-",
        "qlora": lambda each: str(each.lora.rank) if each.lora else "-",
        "optimizer": lambda each: each.optimizer,
        "sleep": lambda each: str(each.rollout.sleep).lower(),
        "checkpointing": lambda each: str(each.checkpointing).lower(),
    }
    return told[key](before), told[key](after)


def _settings(setup: Setup) -> list[list[Move]]:
    """For each setting its moves, the cheapest first. The engine comes last: what its share must hold follows."""
    return [
        [STAY, *_kernels(setup)],
        [STAY, *_weights(setup)],
        [STAY, *_lengths(setup)],
        [STAY, *_batches(setup)],
        [STAY, *_memory(setup)],
        sorted([STAY, *_strategies(setup)], key=lambda each: each.price),
        sorted([STAY, *_engines(setup)], key=lambda each: each.price),
    ]


def _set(key: str, price: float, **values: object) -> Move:
    return Move(price, key, lambda setup: replace(setup, **values))


def _kernels(setup: Setup) -> Iterator[Move]:
    if setup.head == "full":
        yield _set("head", 0.1, head="chunked")
    elif setup.attention == "eager":
        yield _set("attention", 0.1, attention="sdpa")


def _memory(setup: Setup) -> Iterator[Move]:
    if not setup.checkpointing:
        yield _set("checkpointing", 1.0, checkpointing=True)
    if setup.optimizer == "adamw" and setup.lora is None and not setup.deepspeed:
        yield _set("optimizer", 5.0, optimizer="adamw-8bit")


def _weights(setup: Setup) -> Iterator[Move]:
    """Of a frozen base model 16 bit cost little, and 4 bit less than an adapter instead of all weights does."""
    in_32, half = setup.weights == "float32" and not setup.deepspeed, setup.hardware.half
    if setup.lora is not None:
        if in_32:
            yield _set("weights", 2.0, weights=half)
        if setup.bits is None:
            yield _set("bits", 4.0, bits=4, weights=half)
        return
    if in_32 and half == "bfloat16":  # gradients of float16 weights cannot be scaled
        yield _set("weights", 6.0, weights=half)
    yield _set("lora", 10.0, lora=Lora(_RANK), weights=half)
    yield _set("qlora", 12.0, lora=Lora(_RANK), weights=half, bits=4)


def _batches(setup: Setup) -> Iterator[Move]:
    batch, accumulation, price = setup.batch, setup.accumulation, 0.0
    steps = setup.steps_per_generation
    while batch > 1 and batch % 2 == 0:
        batch, accumulation, price = batch // 2, accumulation * 2, price + 0.3
        steps = steps * 2 if steps else None
        yield _set("batch", price, batch=batch, accumulation=accumulation, steps_per_generation=steps)


def _lengths(setup: Setup) -> Iterator[Move]:
    length, price = setup.completion_length, 0.0
    while length // 2 >= _SHORTEST:
        length, price = length // 2, price + 12.0
        yield _set("length", price, completion_length=length)


def _strategies(setup: Setup) -> Iterator[Move]:
    if setup.strategy.startswith("fsdp"):
        if setup.strategy == "fsdp-grad-op":
            yield _set("strategy", 0.7, strategy="fsdp")
        if not setup.offload_parameters:
            yield _set("strategy", 5.0, strategy="fsdp", offload_parameters=True)
        return
    ladder = [("zero2", False, False, 0.3), ("zero3", False, False, 1.0), ("zero2", True, False, 3.0),
              ("zero3", True, False, 3.5), ("zero3", True, True, 5.0)]  # fmt: skip
    now = (setup.strategy, setup.offload_optimizer, setup.offload_parameters)
    rest = [each for each in ladder if (setup.trainers > 1 or each[1]) and each[:3] != now]
    further = [each[:3] for each in ladder].index(now) if now in [each[:3] for each in ladder] else 0
    for name, optimizer, parameters, price in rest:
        # what shards less is no loss; other changes may make room for it, or ask for it, as packed weights do
        nearer = price if ladder.index((name, optimizer, parameters, price)) >= further else 0.1
        yield Move(nearer, "strategy", _strategy(name, optimizer=optimizer, parameters=parameters))


def _strategy(name: str, *, optimizer: bool, parameters: bool) -> Callable[[Setup], Setup | None]:
    def make(setup: Setup) -> Setup | None:
        if setup.bits is not None and name == "zero3":  # partitions of packed weights are not what DeepSpeed cuts
            return None
        return replace(setup, strategy=name, offload_optimizer=optimizer, offload_parameters=parameters)

    return make


def _engines(setup: Setup) -> Iterator[Move]:
    rollout = setup.rollout
    if rollout.engine == "none":
        return
    yield _engine_none()
    if rollout.engine == "server":
        yield Move(0.4, "tensor_parallel", lambda each: _parallel(each, beyond=each.rollout.tensor_parallel))
        return
    yield Move(0.2, "share", _least_share)
    yield Move(0.5, "tensor_parallel", lambda each: _parallel(each, beyond=each.rollout.tensor_parallel))
    if not rollout.sleep:
        yield Move(0.8, "sleep", lambda each: replace(each, rollout=replace(each.rollout, sleep=True)))
    if setup.hardware.total > 1 and setup.hardware.nodes == 1:
        yield Move(1.5, "engine_server", _server)


def _engine_none() -> Move:
    return Move(8.0, "engine_none", lambda each: replace(each, rollout=type(each.rollout)("none")))


def holding_shares(setup: Setup) -> Iterator[float]:
    """Shares of a GPU, from small to large, in which an engine holds its weights and a cache that is worth the name."""
    for step in range(2, 19):
        share = step / 20
        served = engine.of(replace(setup, rollout=replace(setup.rollout, share=share)), setup.rollout.tensor_parallel)
        if served.sequences >= 1 and served.cache > served.working:
            yield share


def _least_share(setup: Setup) -> Setup | None:
    share = next(holding_shares(setup), None)
    return None if share is None else replace(setup, rollout=replace(setup.rollout, share=share))


def _parallel(setup: Setup, *, beyond: int) -> Setup | None:
    """The next larger number of GPUs that hold one copy of the engine, with the least share that holds it."""
    shape, rollout = setup.shape, setup.rollout
    possible = engine.possible_ranks(shape.heads, shape.kv_heads, min(8, setup.hardware.gpus))
    for ranks in (each for each in possible if each > beyond):
        changed = replace(setup, rollout=replace(rollout, tensor_parallel=ranks))
        if rollout.engine == "server":
            if changed.trainers >= 1:
                return changed
        elif setup.trainers % ranks == 0 and (found := _least_share(changed)) is not None:
            return found
    return None


def _server(setup: Setup) -> Setup | None:
    """A server on as few of the GPUs as hold the model; the rest trains."""
    from doctor.sizing.launch import split

    rollout = replace(setup.rollout, engine="server", share=SERVER_SHARE, sleep=False)
    ranks, copies = split(replace(setup, rollout=replace(rollout, tensor_parallel=1)))
    changed = replace(setup, rollout=replace(rollout, tensor_parallel=ranks, data_parallel=copies))
    if changed.trainers < 1 or (changed.trainers == 1 and setup.strategy == "ddp"):
        return None
    return changed

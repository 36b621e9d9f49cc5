"""Idioms about models that `FullyShardedDataParallel` has cut into pieces: what a piece alone does not tell."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from doctor.base.patterns import later
from doctor.readers.script.flow.events import Event
from doctor.readers.script.flow.program import named, text_of
from doctor.readers.script.flow.seen import Met, Script
from doctor.readers.script.flow.values import At

_SHARDS = frozenset({"FSDP", "FullyShardedDataParallel"})
_RANK_ZERO = later(r"(?:^|[^a-z_])(?:get_)?(?:global_)?rank(?:\(\))?\s*==\s*0|is_main(?:_process|_rank)?\b|is_master\b")


def pieces_of_models(script: Script) -> Iterator[Met]:
    """All idioms of this file."""
    if "torch.distributed.fsdp" not in script.text or not any(each in script.text for each in ("FSDP(", "Parallel(")):
        return
    for events in script.runs:
        for event in events:
            if event.name == "clip_grad_norm_" and "NO_SHARD" not in script.text:
                yield from _clipped(script, event)
            elif event.name == "state_dict":
                yield from _saved(script, event)


def _clipped(script: Script, event: Event) -> Iterator[Met]:
    """Norms of torch's own function, which sees the gradients of one process alone."""
    if isinstance(event.call.func, ast.Attribute) and "utils" not in text_of(event.call.func):
        return  # a method of the model
    first = event.argument(0, "parameters")
    if not isinstance(first, ast.Call) or named(first) != "parameters" or not isinstance(first.func, ast.Attribute):
        return
    if _is_sharded(script, At(first.func.value, event.stack)):
        yield Met("clipped_in_shards", event.call, {"model": text_of(first.func.value)})


def _saved(script: Script, event: Event) -> Iterator[Met]:
    """A state that is put together by all processes, and asked for by one."""
    alone = [
        node.test for node, block in event.around
        if isinstance(node, ast.If) and block == "body" and _RANK_ZERO.search(ast.unparse(node.test))
    ]  # fmt: skip
    if alone and event.base is not None and _is_sharded(script, event.base):
        yield Met("state_of_shards_on_one_rank", event.call, {"model": text_of(event.base.node)})


def _is_sharded(script: Script, model: At) -> bool:
    """Whether an object is what `FSDP(...)` returned, in every way that leads to it."""
    made = script.roles.origins(model)
    return bool(made) and all(named(each.call) in _SHARDS for each in made or ())

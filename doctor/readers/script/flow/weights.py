"""Idioms about whose weights are trained: what an optimizer holds, what a loss and a reference are computed with."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from doctor.base.patterns import later
from doctor.readers.script.flow.events import Event
from doctor.readers.script.flow.program import named, text_of
from doctor.readers.script.flow.roles import losses
from doctor.readers.script.flow.seen import Met, Script
from doctor.readers.script.flow.values import At

#: functions that give back a model with parameters that it had not
_ADDS = frozenset({
    "get_peft_model", "prepare_model_for_kbit_training", "fully_shard", "FullyShardedDataParallel", "FSDP",
    "inject_adapter_in_model", "PeftModel",
})  # fmt: skip
_ADDING_METHODS = frozenset({"add_adapter", "resize_token_embeddings", "load_adapter"})
_REFERENCE = later(r"(?i)(?:^|[._])(?:ref|reference|frozen|teacher|old)(?:_?(?:model|policy|net|lm))?$")


def weights_of_objects(script: Script) -> Iterator[Met]:
    """All idioms of this file."""
    for events in script.runs:
        yield from _stale(script, events)
    yield from _reference_is_policy(script)


def _stale(script: Script, events: list[Event]) -> Iterator[Met]:
    """An optimizer that is made before its model gets the parameters that are to be trained."""
    for made in events:
        if made.call not in list(script.roles.optimizers()):
            continue
        owners = [each for each in script.roles.owners(made.call, made.stack) if text_of(each.node)]
        for event in events[events.index(made) + 1 :]:
            changed = _changed(event)
            if changed is None or event.step.loops or _is_told(script, made):
                continue
            if any(script.same(changed, owner) for owner in owners):
                model = text_of(changed.node)
                yield Met("optimizer_before_change", event.call, {"change": named(event.call), "model": model})
                return


def _is_told(script: Script, made: Event) -> bool:
    """Whether an optimizer is told of new parameters, or made once more."""
    return "add_param_group" in script.text or sum(named(each) == made.name for each in script.values.program.calls) > 1


def _changed(event: Event) -> At | None:
    """The model that a call gives new parameters."""
    if event.name in _ADDS and event.call.args:
        return At(event.call.args[0], event.stack)
    if event.name in _ADDING_METHODS:
        return event.base
    if event.name == "from_pretrained" and event.base is not None and text_of(event.base.node) == "PeftModel":
        return At(event.call.args[0], event.stack) if event.call.args else None
    return None


def _reference_is_policy(script: Script) -> Iterator[Met]:
    """A reference that is another name of the model that is trained."""
    if "disable_adapter" in script.text or "set_adapter" in script.text:
        return
    trained = [owner for made in script.roles.optimizers() for owner in script.roles.owners(made)]
    if not trained or not any(list(losses(events)) for events in script.runs):
        return
    for (_, name), defined in script.values.program.definitions.items():
        if not _REFERENCE.search(name) or len(defined) != 1 or not isinstance(defined[0].value, (ast.Name, ast.Call)):
            continue
        if defined[0].index or defined[0].weak or not _plain(defined[0].value):
            continue
        mine = script.roles.origins(At(defined[0].value))
        for owner in trained:
            theirs = script.roles.origins(owner)
            if mine and theirs and mine == theirs and len(mine) == 1:
                yield Met(
                    "reference_is_policy", defined[0].step.node, {"reference": name, "model": text_of(owner.node)}
                )
                return


def _plain(value: ast.AST) -> bool:
    """A name, or a method of one that gives the same object again."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and not value.args:
        if value.func.attr not in {"eval", "requires_grad_", "to", "cuda"}:
            return False
        value = value.func.value
    return isinstance(value, ast.Name)

"""Idioms about whose weights are trained: what an optimizer holds, what a loss and a reference are computed with."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from doctor.base.patterns import later
from doctor.readers.script.flow.events import Event, after
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
_WRAPPERS = frozenset({"DDP", "DistributedDataParallel"})
#: methods of a module that compute nothing
_RUNS_NOTHING = frozenset({
    "parameters", "named_parameters", "eval", "train", "requires_grad_", "to", "cuda", "state_dict", "save_pretrained",
})  # fmt: skip
#: they make the inputs of a frozen model require gradients, do without that, or may
_SEES_TO_INPUTS = (
    "enable_input_require_grads", "use_reentrant", "kbit_training", "int8_training", "Trainer(", "embed_tokens",
    "prepare_model_for_gradient_checkpointing", "diffusers",
)  # fmt: skip
_REFERENCE = later(r"(?i)(?:^|[._])(?:ref|reference|frozen|teacher|old)(?:_?(?:model|policy|net|lm))?$")


def weights_of_objects(script: Script) -> Iterator[Met]:
    """All idioms of this file."""
    for events in script.runs:
        yield from _stale(script, events)
        yield from _unfrozen(script, events)
        yield from _past_wrapper(script, events)
        yield from _reference_from_path(script, events)
        yield from _checkpointed_behind(script, events)
    yield from _reference_is_policy(script)
    yield from _given_as_reference(script)
    yield from _of_frozen(script)
    yield from _rebound(script)


def _stale(script: Script, events: list[Event]) -> Iterator[Met]:
    """An optimizer that is made before its model gets the parameters that are to be trained."""
    optimizers = list(script.roles.optimizers())
    for made in events:
        if made.call not in optimizers:
            continue
        owners = [each for each in script.roles.owners(made.call, made.stack) if text_of(each.node)]
        for event in events[events.index(made) + 1 :]:
            changed = _changed(event)
            if changed is None or event.step.loops or _is_told(script, made):
                continue
            if any(each.call in optimizers for each in after(events, event)):
                break  # made once more: the function that makes it is called again
            if any(script.same(changed, owner) for owner in owners):
                model = text_of(changed.node)
                yield Met("optimizer_before_change", event.call, {"change": named(event.call), "model": model})
                return


def _unfrozen(script: Script, events: list[Event]) -> Iterator[Met]:
    """Parameters that become trainable behind an optimizer that was given the trainable ones."""
    optimizers = list(script.roles.optimizers())
    for made in events:
        if made.call not in optimizers or not _takes_trainable(script, made) or _is_told(script, made):
            continue
        behind = events[events.index(made) + 1 :]
        trains = any(event.name == "backward" for event in behind)
        for event in behind if trains else ():
            if event.name == "requires_grad_" and _is_true(event.argument(0, "requires_grad")):
                step = script.values.step(made.call)
                name = text_of(step.node.targets[0]) if step is not None and isinstance(step.node, ast.Assign) else ""
                yield Met("unfrozen_after_optimizer", event.stack[-1] if event.stack else event.call,
                          {"optimizer": name or made.name})  # fmt: skip
                return


def _takes_trainable(script: Script, made: Event) -> bool:
    """Whether an optimizer is given the parameters that require gradients when it is made."""
    first = made.argument(0, "params")
    nodes = script.values.made_of(first, made.stack) if first is not None else ()
    return any(isinstance(each.node, ast.Attribute) and each.node.attr == "requires_grad" for each in _all(nodes))


def _all(nodes: Iterable[At]) -> Iterator[At]:
    """Nodes with the conditions of comprehensions among them."""
    for each in nodes:
        yield each
        for part in getattr(each.node, "generators", ()):
            yield from (At(one, each.stack) for test in part.ifs for one in ast.walk(test))


def _is_true(given: ast.expr | None) -> bool:
    return given is None or (isinstance(given, ast.Constant) and given.value is True)


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
                model = text_of(owner.node)
                model = _under(defined[0].value) if model == name else model
                yield Met("reference_is_policy", defined[0].step.node, {"reference": name, "model": model})
                return


def _given_as_reference(script: Script) -> Iterator[Met]:
    """A trainer of TRL that gets one object as `policy` and as `ref_policy`, which none of its releases compares."""
    for call in script.values.program.calls:
        given = {each.arg: each.value for each in call.keywords}
        if not named(call).endswith("Trainer") or not {"policy", "ref_policy"} <= given.keys():
            continue
        mine, theirs = (script.roles.origins(At(given[name])) for name in ("policy", "ref_policy"))
        if mine and theirs and mine == theirs and len(mine) == 1:
            yield Met("reference_is_policy", call, {"reference": "ref_policy", "model": text_of(given["policy"])})
            return


def _checkpointed_behind(script: Script, events: list[Event]) -> Iterator[Met]:
    """Checkpointing that is switched on behind `get_peft_model`, which makes the inputs require gradients only before.

    https://github.com/huggingface/peft/blob/v0.17.0/src/peft/peft_model.py (`prepare_model_for_gradient_checkpointing`)
    """
    if "ForCausalLM" not in script.text or any(word in script.text for word in _SEES_TO_INPUTS):
        return
    if not any(list(losses(each)) for each in script.runs):
        return
    adapted: Event | None = None
    for event in events:
        if event.name == "get_peft_model":
            adapted = event
        elif event.name == "gradient_checkpointing_enable":
            if adapted is None or event.call.args or event.call.keywords or adapted.stack != event.stack:
                return
            yield Met("checkpointing_behind_adapter", event.call)
            return


def _of_frozen(script: Script) -> Iterator[Met]:
    """The only optimizer of a script holds a model that is nowhere run with gradients, while gradients are computed."""
    optimizers = list(script.roles.optimizers())
    if len(optimizers) != 1 or not any(list(losses(events)) for events in script.runs):
        return
    owners = list(script.roles.owners(optimizers[0]))
    step = script.values.step(optimizers[0])
    if len(owners) != 1 or step is None or not isinstance(step.node, ast.Assign):
        return
    model = owners[0].node
    if isinstance(model, ast.Name) and step.node.value is optimizers[0] and _runs_only_frozen(script, model):
        optimizer = text_of(step.node.targets[0])
        yield Met("optimizer_of_frozen_model", optimizers[0], {"optimizer": optimizer, "model": model.id})


def _runs_only_frozen(script: Script, model: ast.Name) -> bool:
    """Whether a model is run, and each time without a graph; every other use of its name is a method that runs nothing.

    Another name of the model, or a function that it is given to with gradients, would be another use.
    """
    program = script.values.program
    quiet = {
        id(call.func.value)
        for call in program.calls
        if isinstance(call.func, ast.Attribute) and call.func.attr in _RUNS_NOTHING
    }
    uses = [
        each
        for each in ast.walk(program.tree)
        if isinstance(each, ast.Name)
        and each.id == model.id
        and isinstance(each.ctx, ast.Load)
        and id(each) not in quiet
    ]
    return bool(uses) and all(script.roles.in_no_grad(each, ()) for each in uses)


def _plain(value: ast.AST) -> bool:
    """A name, or a method of one that gives the same object again."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and not value.args:
        if value.func.attr not in {"eval", "requires_grad_", "to", "cuda"}:
            return False
        value = value.func.value
    return isinstance(value, ast.Name)


def _under(value: ast.AST) -> str:
    """The name that an object had before: `policy` of `policy.eval()`."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        value = value.func.value
    return text_of(value)


def _past_wrapper(script: Script, events: list[Event]) -> Iterator[Met]:
    """A loss of the model inside of `DistributedDataParallel`: the hooks of the wrapper never run."""
    wrapped = {}
    for event in events:
        node = event.step.node
        if event.name in _WRAPPERS and isinstance(node, ast.Assign) and node.value is event.call and event.call.args:
            wrapped[text_of(node.targets[0])] = (text_of(event.call.args[0]), event)
    for wrapper, (inner, made) in wrapped.items():
        behind = events[events.index(made) + 1 :]
        if inner == wrapper or any(text_of(each.call.func) == wrapper for each in behind) or _is_given(wrapper, behind):
            continue
        for _, loss in losses(behind):
            for each in script.roles.forwards(loss, trained=True):
                if isinstance(each.node, ast.Call) and text_of(each.node.func) == inner:
                    yield Met("forward_past_wrapper", each.node, {"D": wrapper})
                    return


def _is_given(name: str, events: list[Event]) -> bool:
    """Whether a call is given an object, and may run it."""
    return any(text_of(each) == name for event in events for each in (*event.call.args, *_values(event.call)))


def _values(call: ast.Call) -> list[ast.expr]:
    return [each.value for each in call.keywords]


def _reference_from_path(script: Script, events: list[Event]) -> Iterator[Met]:
    """DPO of a model that was trained in memory: the reference is loaded from the path that its configuration names."""
    for event in events:
        given = {each.arg: each.value for each in event.call.keywords if each.arg}
        if event.name != "DPOTrainer" or "model" not in given or {"ref_model", "peft_config"} & set(given):
            continue
        model = At(given["model"], event.stack)
        made = script.roles.origins(model)
        if not made or any(named(each.call) != "from_pretrained" for each in made):
            continue
        before = events[: events.index(event)]
        for _, loss in losses(before):
            if any(_is_of(script, each, model) for each in script.roles.forwards(loss, trained=True)):
                yield Met("reference_from_path", event.call, {"model": text_of(model.node)})
                return


def _is_of(script: Script, forward: At, model: At) -> bool:
    return isinstance(forward.node, ast.Call) and script.same(At(forward.node.func, forward.stack), model)


def _rebound(script: Script) -> Iterator[Met]:
    """Entries of `state_dict()` that are given other tensors: the module keeps its own."""
    for (scope, name), defined in script.values.program.definitions.items():
        made = [each for each in defined if _is_state(each.value) and not each.weak]
        put = [each for each in defined if each.weak and isinstance(each.step.node, ast.Assign)]
        if len(made) != 1 or not put or len(made) + len(put) != len(defined) or "." in name:
            continue
        nodes = [e for e in ast.walk(made[0].step.scope) if isinstance(e, ast.Name) and e.id == name]
        targets = {id(e) for each in put for e in ast.walk(each.step.node) if isinstance(e, ast.Name)}
        if all(isinstance(e.ctx, ast.Store) or id(e) in targets for e in nodes) and id(made[0].step.scope) == scope:
            yield Met("state_rebound", put[0].step.node, {"name": name})
            return


def _is_state(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and named(value) == "state_dict"

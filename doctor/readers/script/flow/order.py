"""Idioms that the order of calls in a training loop shows: gradients, steps, schedules, modes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from doctor.readers.script.flow.events import Event
from doctor.readers.script.flow.program import Definition, named, text_of
from doctor.readers.script.flow.roles import losses
from doctor.readers.script.flow.seen import Met, Script
from doctor.readers.script.flow.values import At

_CLEARS = frozenset({"zero_grad", "zero_grad_"})
_CLIPS = frozenset({"clip_grad_norm_", "clip_grad_value_"})
#: they clear gradients, or step, by themselves
_OF_FRAMEWORKS = ("deepspeed.initialize", "accelerate(", "fabric.", "LightningModule", ".fused", "LBFGS", "lomo")


def order_of_calls(script: Script) -> Iterator[Met]:
    """All idioms of this file."""
    for events in script.runs:
        steps = [each for each in events if each.name == "step" and stepped(script, each) is not None]
        backward = [event for event, _ in losses(events)]
        if backward and steps:
            yield from _cleared(script, events, backward, steps)
            yield from _clipped(events, backward, steps)
            yield from _scheduled(script, events, steps)
        if backward:
            yield from _modes(script, events, backward)
            yield from _summed(script, events)
    yield from _never_steps(script)


def stepped(script: Script, step: Event) -> At | None:
    """The optimizer that steps: `optimizer.step()`, or `scaler.step(optimizer)`."""
    if step.base is not None and script.roles.is_optimizer(step.base):
        return step.base
    given = At(step.call.args[0], step.stack) if len(step.call.args) == 1 else None
    return given if given is not None and script.roles.is_optimizer(given) else None


def _cleared(
    script: Script, events: Sequence[Event], backward: Sequence[Event], steps: Sequence[Event]
) -> Iterator[Met]:
    """Gradients that are never cleared, and those that are cleared before they are used."""
    by_hand = any(word in script.text for word in ("set_to_none", ".grad = None", ".grad.zero_", *_OF_FRAMEWORKS))
    clears = [each for each in events if each.name in _CLEARS]
    anywhere = sum(named(call) in _CLEARS for call in script.values.program.calls)
    for step in steps:
        before = [each for each in backward if events.index(each) < events.index(step)]
        if not step.loops or not before:
            continue
        loop = step.loops[-1]
        inside = [each for each in clears if loop in each.loops]
        if not inside and loop in before[-1].loops and not by_hand and len(clears) == anywhere:
            yield Met("gradients_never_cleared", step.call, {"step": _text(step)})
            return
        first, last = events.index(before[-1]), events.index(step)
        for each in inside:
            mine = (own := stepped(script, step)) is not None and each.base is not None and script.same(own, each.base)
            if mine and first < events.index(each) < last and each.branches <= step.branches:
                yield Met("gradients_cleared_before_step", each.call, {"step": _text(step)})
                return


def _clipped(events: Sequence[Event], backward: Sequence[Event], steps: Sequence[Event]) -> Iterator[Met]:
    """Norms that are clipped when the step is over, or while a scaler still multiplies them."""
    clips = [each for each in events if each.name in _CLIPS]
    scaled = [each for each in backward if isinstance(each.call.func, ast.Attribute) and _is_scaled(each.call)]
    for clip in clips:
        place = events.index(clip)
        before = [each for each in backward if events.index(each) < place and _together(each, clip)]
        gone = [each for each in steps if events.index(each) < place and _together(each, clip)]
        others = [each for each in clips if each is not clip and _together(each, clip)]
        if before and gone and not others and events.index(before[-1]) < events.index(gone[-1]):
            yield Met("clipped_after_step", clip.call, {"step": _text(gone[-1])})
            return
        unscaled = any(each.name == "unscale_" and events.index(each) < place for each in events)
        if scaled and not unscaled and before and before[-1] in scaled:
            yield Met("clipped_while_scaled", clip.call)
            return


def _is_scaled(call: ast.Call) -> bool:
    base = call.func.value if isinstance(call.func, ast.Attribute) else None
    return isinstance(base, ast.Call) and named(base) == "scale"


def _together(one: Event, other: Event) -> bool:
    """Whether two events come in the same turns of the innermost loop of one of them."""
    return bool(one.loops) and bool(other.loops) and (one.loops[-1] is other.loops[-1])


def _scheduled(script: Script, events: Sequence[Event], steps: Sequence[Event]) -> Iterator[Met]:
    """A schedule that advances with every small batch, of which several make one step."""
    if ".accumulate(" in script.text:
        yield from _unprepared(script, events)
        return
    schedules = [e for e in events if e.name == "step" and e.base and script.roles.is_schedule(e.base)]
    for step in steps:
        counted = [test for test in step.tests if _counts(test)]
        if not step.loops or not counted:
            continue
        numbers = [number for test in counted if (number := remainder(test))]
        for each in schedules:
            if not _is_of_steps(script, each, numbers):
                continue
            beside = each.loops[-1:] == step.loops[-1:]
            if beside and not any(map(_counts, each.tests)):
                yield Met("schedule_in_every_small_batch", each.call, {"test": ast.unparse(counted[0])})
                return


def _unprepared(script: Script, events: Sequence[Event]) -> Iterator[Met]:
    """A schedule of steps in `accelerator.accumulate`, which did not go through `prepare` and so never waits."""
    prepared = {text_of(each) for call in events if call.name == "prepare" for each in call.call.args}
    for event in events:
        if event.name != "step" or event.base is None or not script.roles.is_schedule(event.base):
            continue
        entered = any(named(each) == "accumulate" for each in event.step.entered)
        waits = any("sync" in ast.unparse(test) or _counts(test) for test in event.tests)
        if entered and not waits and text_of(event.base.node) not in prepared and _counts_steps(script, event):
            yield Met("schedule_in_every_small_batch", event.call, {"test": "accelerator.sync_gradients"})
            return


def _counts_steps(script: Script, event: Event) -> bool:
    """Whether the length of a schedule is called one of steps, and is no number of batches."""
    made = script.roles.origins(event.base) if event.base is not None else None
    for origin in made or ():
        given = (
            [*origin.call.args, *(e.value for e in origin.call.keywords)] if isinstance(origin.call, ast.Call) else []
        )
        steps = [each for each in given if text_of(each).endswith(("train_steps", "training_steps", "max_steps"))]
        for each in steps:
            nodes = [at.node for at in script.values.made_of(each, origin.stack)]
            if not any(isinstance(node, ast.Call) and named(node) == "len" for node in nodes):
                return True
    return False


def remainder(test: ast.expr) -> str:
    """The number by which the turns of a condition are counted."""
    found = [each for each in ast.walk(test) if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Mod)]
    return ast.unparse(found[0].right) if found else ""


def _is_of_steps(script: Script, event: Event, numbers: Sequence[str]) -> bool:
    """Whether the length of a schedule is a number of batches divided by those of a step."""
    made = script.roles.origins(event.base) if event.base is not None else None
    for origin in made or ():
        for each in script.values.made_of(origin.call, origin.stack):
            node = each.node
            divides = isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.FloorDiv))
            if divides and ast.unparse(node.right) in numbers:  # type: ignore[attr-defined]
                return True
    return False


def _counts(test: ast.expr) -> bool:
    """Whether a condition counts turns: it holds a remainder."""
    return any(isinstance(each, ast.BinOp) and isinstance(each.op, ast.Mod) for each in ast.walk(test))


def _modes(script: Script, events: Sequence[Event], backward: Sequence[Event]) -> Iterator[Met]:
    """A model that is put into evaluation mode in its loop, and never back."""
    trains = [each for each in events if each.name == "train" and each.base is not None]
    if sum(named(call) == "train" for call in script.values.program.calls) > len(trains):
        return
    for event in events:
        if event.name != "eval" or event.base is None or event.call.args or not event.loops:
            continue
        if not any(event.loops[0] in each.loops for each in backward):
            continue
        if any(event.loops[0] in each.loops for each in trains) or not _is_trained(script, event.base):
            continue
        yield Met("evaluation_mode_stays", event.call, {"model": text_of(event.base.node)})
        return


def _is_trained(script: Script, model: At) -> bool:
    """Whether an optimizer has a model's parameters."""
    mine = script.roles.origins(model)
    for optimizer in script.roles.optimizers():
        for owner in script.roles.owners(optimizer):
            theirs = script.roles.origins(owner)
            if (mine and theirs and mine & theirs) or text_of(owner.node) == text_of(model.node):
                return True
    return False


def _summed(script: Script, events: Sequence[Event]) -> Iterator[Met]:
    """A total of losses that keeps the graph of each."""
    for _, loss in losses(list(events)):
        if not isinstance(loss.node, ast.Name):
            continue
        mine = {id(each) for each in script.values.reaching(loss.node)}
        for (_, name), defined in script.values.program.definitions.items():
            for each in defined:
                if (
                    _adds(each)
                    and not _begins_anew(each, defined)
                    and _is_loss(script, each, mine)
                    and not _used_with_gradient(script, name, events)
                ):
                    yield Met("graph_summed", each.step.node, {"total": name, "loss": loss.node.id})
                    return


def _adds(definition: Definition) -> bool:
    node = definition.step.node
    return isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and bool(definition.step.loops)


def _begins_anew(added: Definition, defined: Sequence[Definition]) -> bool:
    """Whether a total is set in the loop in which it grows: it holds the graphs of a few turns at most."""
    loop = added.step.loops[-1]
    return any(not each.weak and each is not added and loop in each.step.loops for each in defined)


def _is_loss(script: Script, definition: Definition, mine: set[int]) -> bool:
    value = definition.value
    while isinstance(value, ast.BinOp):
        value = value.left
    if not isinstance(value, ast.Name) or script.roles.in_no_grad(value, ()):
        return False
    return any(id(each) in mine and not each.weak for each in script.values.reaching(value)) and not any(
        _leaves_graph(each.value) for each in script.values.reaching(value)
    )


def _leaves_graph(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and named(value) in {"item", "float", "detach"}


def _used_with_gradient(script: Script, name: str, events: Sequence[Event]) -> bool:
    """Whether a total is gone through itself, or is no plain number's."""
    for _, loss in losses(list(events)):
        for each in script.values.made_of(loss.node, loss.stack):
            if isinstance(each.node, (ast.Name, ast.Attribute)) and text_of(each.node) == name:
                return True
    return False


def _never_steps(script: Script) -> Iterator[Met]:
    """An optimizer that is made and never asked to step, in a script that computes gradients itself."""
    program = script.values.program
    if not any(named(call) == "backward" for call in program.calls) or "Trainer" in script.text:
        return
    for optimizer in script.roles.optimizers():
        step = script.values.step(optimizer)
        node = step.node if step is not None else None
        if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
            continue
        name = node.targets[0].id
        used = [
            e for e in ast.walk(program.tree) if isinstance(e, ast.Name) and e.id == name and e is not node.targets[0]
        ]
        if node.value is optimizer and all(id(each) in _cleared_names(program.calls) for each in used):
            yield Met("optimizer_never_steps", optimizer, {"optimizer": name})
            return


def _cleared_names(calls: Sequence[ast.Call]) -> set[int]:
    """Names whose gradients are cleared, by the identity of their nodes."""
    return {
        id(call.func.value) for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in _CLEARS
    }  # fmt: skip


def _text(step: Event) -> str:
    """`optimizer.step()`, as it is written."""
    return f"{text_of(step.base.node) if step.base is not None else ''}.step()"

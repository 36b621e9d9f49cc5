"""Idioms about gradient accumulation: what several micro-batches to a step ask of the loss and of the schedule."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from doctor.base.patterns import later
from doctor.readers.script.flow.events import Event
from doctor.readers.script.flow.loss import is_all_known
from doctor.readers.script.flow.order import remainder, stepped
from doctor.readers.script.flow.program import named, text_of
from doctor.readers.script.flow.roles import losses
from doctor.readers.script.flow.seen import Met, Script
from doctor.readers.script.flow.values import At

#: they divide by themselves, or gradients are divided instead of the loss
_DIVIDES = (
    "deepspeed", "Accelerator(", "accelerate(", "Fabric(", "LightningModule", ".grad.div", ".grad /=", ".grad.mul",
    ".grad *=", "reduction='sum'", 'reduction="sum"', "sync_gradients", "LBFGS",
)  # fmt: skip
_COUNTS = later(r"(?i)accum|micro|n_batches|num_batches|update_every|step_every|grad_?acc|gas$")
#: schedules whose length is told, and which of their arguments tells it
_ENDS = later(
    r"^get_(?:linear|cosine|polynomial)\w*schedule\w*$|^get_scheduler$|^(?:CosineAnnealing|OneCycle|Linear)LR$"
)
_CONSTANT = later(r"constant|inverse_sqrt|restarts")
_SHORTENS = later(r"(?i)accum|update|optim|grad_?acc|max_steps|micro")


def accumulation(script: Script) -> Iterator[Met]:
    """All idioms of this file."""
    for events in script.runs:
        steps = [each for each in events if each.name == "step" and stepped(script, each) is not None]
        for step in steps:
            numbers = [number for test in step.tests if (number := remainder(test)) and number != "1"]
            if not numbers or not step.loops:
                continue
            yield from _undivided(script, events, step, numbers)
            yield from _too_long(script, events, step, numbers)
        yield from _not_entered(script, events, steps)
        yield from _counted_in_process(script, events)


def _undivided(script: Script, events: Sequence[Event], step: Event, numbers: Sequence[str]) -> Iterator[Met]:
    """Means of several micro-batches whose gradients are added, and divided nowhere."""
    if any(word in script.text for word in _DIVIDES):
        return
    cleared = [e for e in events if e.name == "zero_grad" and step.loops[-1] in e.loops]
    if not cleared or any(not step.branches & each.branches for each in cleared):
        return
    for event, loss in losses(list(events)):
        counted = any(remainder(test) for test in event.tests)
        if counted or event.loops[-1:] != step.loops[-1:] or not is_all_known(script, loss):
            continue
        nodes = list(script.values.made_of(loss.node, loss.stack, script.roles.without_gradient))
        if any(True for _ in script.roles.forwards(loss, trained=True)) and not _is_scaled(
            script, loss, nodes, numbers
        ):
            yield Met(
                "losses_summed_over_batches", event.call, {"loss": text_of(loss.node) or "loss", "number": numbers[0]}
            )
            return


def _is_scaled(script: Script, loss: At, nodes: Sequence[At], numbers: Sequence[str]) -> bool:
    """Whether a loss is, or may be, divided by how many micro-batches make a step."""
    for each in nodes:
        node = each.node
        if isinstance(node, (ast.Name, ast.Attribute)) and _COUNTS.search(text_of(node)):
            return True
        if isinstance(node, ast.expr) and ast.unparse(node) in numbers and not isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and _is_plain_number(node.right):
            return True
    if isinstance(loss.node, ast.Name):
        changes = [each.step.node for each in script.values.reaching(loss.node)]
        return any(isinstance(e, ast.AugAssign) and isinstance(e.op, (ast.Div, ast.Mult)) for e in changes)
    return False


def _is_plain_number(node: ast.expr) -> bool:
    """A divisor that is no sum or size of the batch's own: it may stand for the number of micro-batches."""
    return not any(isinstance(each, ast.Call) for each in ast.walk(node))


def _too_long(script: Script, events: Sequence[Event], step: Event, numbers: Sequence[str]) -> Iterator[Met]:
    """A schedule as long as there are batches, that advances with the steps."""
    for event in events:
        if event.name != "step" or event.base is None or not script.roles.is_schedule(event.base):
            continue
        if not any(remainder(test) in numbers for test in event.tests) or event.loops[-1:] != step.loops[-1:]:
            continue
        made = script.roles.origins(event.base)
        for origin in made or ():
            if isinstance(origin.call, ast.Call) and _counts_batches(script, At(origin.call, origin.stack)):
                yield Met(
                    "schedule_longer_than_run", origin.call, {"number": numbers[0], "schedule": named(origin.call)}
                )
                return


def _counts_batches(script: Script, made: At) -> bool:
    """Whether the length of a schedule that ends is a number of batches, which nothing divides."""
    call = made.node
    if not isinstance(call, ast.Call) or not _ENDS.search(named(call)) or _CONSTANT.search(ast.unparse(call)):
        return False
    lengths = (*call.args[1:], *(e.value for e in call.keywords))
    nodes = [at.node for each in lengths for at in script.values.made_of(each, made.stack)]
    divided = any(isinstance(e, ast.BinOp) and isinstance(e.op, (ast.Div, ast.FloorDiv)) for e in nodes)
    names = any(isinstance(e, (ast.Name, ast.Attribute)) and _SHORTENS.search(text_of(e)) for e in nodes)
    return not divided and not names and any(_is_length_of_loader(e) for e in nodes)


def _is_length_of_loader(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call) and named(node) == "len" and len(node.args) == 1
        and "load" in text_of(node.args[0]).lower()
    )  # fmt: skip


def _not_entered(script: Script, events: Sequence[Event], steps: Sequence[Event]) -> Iterator[Met]:
    """`Accelerator(gradient_accumulation_steps=8)` in a loop that never enters `accumulate`."""
    if any(word in script.text for word in (".accumulate(", "no_sync", "sync_gradients", "GradientState", "deepspeed")):
        return
    made = [each for each in events if each.name == "Accelerator"]
    for each in made:
        given = each.argument(3, "gradient_accumulation_steps")
        number = _number(script, given, each) if given is not None else None
        plain = [step for step in steps if step.loops and not any(remainder(test) for test in step.tests)]
        accelerated = [e for e, _ in losses(list(events)) if e.call.args]
        if (
            number is not None
            and number > 1
            and len(plain) == len(steps)
            and any(step.loops[-1:] == e.loops[-1:] for step in plain for e in accelerated)
        ):
            yield Met("accumulation_not_entered", each.call, {"number": str(number)})
            return


def _counted_in_process(script: Script, events: Sequence[Event]) -> Iterator[Met]:
    """A schedule as long as one process has batches, which `prepare` then advances once for each process."""
    if any(word in script.text for word in ("num_processes", "split_batches=True", "step_scheduler_with_optimizer")):
        return
    for event in events:
        node = event.step.node
        if not _ENDS.search(event.name) or not isinstance(node, ast.Assign) or node.value is not event.call:
            continue
        target = text_of(node.targets[0])
        lengths = (*event.call.args[1:], *(e.value for e in event.call.keywords))
        counted = [at.node for each in lengths for at in script.values.made_of(each, event.stack)]
        behind = [e for e in events[events.index(event) + 1 :] if e.name == "prepare"]
        given = any(text_of(e) == target for each in behind for e in each.call.args)
        if given and any(_is_length_of_prepared(script, each) for each in counted):
            yield Met("schedule_in_every_process", event.call)
            return


def _is_length_of_prepared(script: Script, node: ast.AST) -> bool:
    """`len(loader)` of a loader that went through `prepare`: it has the batches of one process."""
    if not isinstance(node, ast.Call) or named(node) != "len" or len(node.args) != 1:
        return False
    defined = script.values.reaching(node.args[0])
    return bool(defined) and all(isinstance(e.value, ast.Call) and named(e.value) == "prepare" for e in defined)


def _number(script: Script, given: ast.expr, event: Event) -> int | None:
    """The whole number that an expression is, where only one is possible."""
    held = [At(given, event.stack)]
    for _ in range(4):
        if len(held) == 1 and isinstance(held[0].node, ast.Constant):
            value = held[0].node.value
            return value if isinstance(value, int) else None
        if len(held) != 1 or not isinstance(held[0].node, (ast.Name, ast.Attribute)):
            return None
        held = list(script.values.held(held[0]))
    return None

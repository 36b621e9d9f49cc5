"""Loops that no trainer drives: their optimizer's steps are counted, and an exception of its own ends the loop."""

from __future__ import annotations

import functools
from typing import Any, ClassVar, Optional

from doctor.monitors.rehearse import journal, loop_inventory, moved, outputs, saved
from doctor.monitors.rehearse.relations import accumulating, cleared, clipping, frozen, held, margins, ratios
from doctor.monitors.rehearse.settings import settings

#: one trainer's training makes the steps of its own optimizer
_OVER = 0


class RehearsalOver(SystemExit):
    """The steps of a rehearsal are made; the program ends well."""

    of_rehearsal = True


class Current:
    """What a trainer of this process trains now; its steps are not a loop's."""

    trainer: Any = None
    training = False
    trainings = 0


#: backward passes without a step at which it is noted that nothing steps
_BACKWARDS = 10


class _Loop:
    backwards: ClassVar[int] = 0
    steps: ClassVar[dict[int, int]] = {}
    #: optimizer -> rates of its groups that are 0 for the step that is being made
    rates: ClassVar[dict[int, list[Any]]] = {}


def attach(module: Any) -> None:
    """Count the steps of every optimizer from now on, and note the rates that they are made with."""
    register = getattr(module, "register_optimizer_step_post_hook", None)
    if register is None:
        journal.left_out("loops", "no_step_hook")
        return
    before = getattr(module, "register_optimizer_step_pre_hook", None)
    if before is not None:
        before(_stepping)
    register(_stepped)
    cleared.attach(getattr(module, "Optimizer", None))


def modules(module: Any) -> None:
    """Take the inventory of a loop's first step."""
    cleared.attach(module.Module)
    frozen.attach(module)
    loop_inventory.attach(module, wanted=lambda: not Current.training)


def backwards(module: Any) -> None:
    """Note a program that computes gradients and makes no step with them."""
    original = module.backward

    @functools.wraps(original)
    def backward(*args: Any, **kwargs: Any) -> Any:
        _Loop.backwards += 1
        if _Loop.backwards == _BACKWARDS and not _Loop.steps:
            journal.once("backwards", "backwards", count=_BACKWARDS)
        cleared.backward()
        clipping.backward()
        ratios.look(args[0] if args else kwargs.get("tensors"))
        if Current.training:  # whose phases are marked around its own methods
            return original(*args, **kwargs)
        journal.reached("loss")
        with journal.phase("backward"):
            return original(*args, **kwargs)

    module.backward = backward


@journal.shielded
def _stepping(optimizer: Any, *_: Any) -> None:
    """Note the rates of a step that is about to be made, which a schedule changes behind it; see `moved`.

    With learning rate 0 every group has it for that step, also where an optimizer was given rates of its own.
    """
    if settings().null and all(each.get("lr") is not None for each in optimizer.param_groups):
        _Loop.rates[id(optimizer)] = [each.get("lr") for each in optimizer.param_groups]
        _set_rates(optimizer, [each * 0 for each in _Loop.rates[id(optimizer)]])
    outputs.stepping(_Loop.backwards, _parts())
    ratios.over()
    frozen.stepping(optimizer)
    if not Current.training:
        accumulating.stepping(optimizer)
        cleared.stepping(optimizer)
        clipping.stepping(optimizer)
        held.stepping(optimizer)
    loop_inventory.stepping(optimizer, of_trainer=Current.training)
    moved.used(optimizer)
    if not Current.training and not _Loop.steps.get(id(optimizer)):
        moved.remember_of(optimizer)


def _parts() -> Optional[int]:
    """Micro-batches that a trainer makes a step of; None where none drives this process."""
    if not Current.training:
        return None
    asked = getattr(getattr(Current.trainer, "args", None), "gradient_accumulation_steps", 1)
    return asked if isinstance(asked, int) else 1


def _set_rates(optimizer: Any, rates: list[Any]) -> None:
    for group, rate in zip(optimizer.param_groups, rates):  # noqa: B905 - Python 3.9 has no strict=
        group["lr"] = rate


def _stepped(optimizer: Any, *_: Any) -> None:
    before = _Loop.rates.pop(id(optimizer), None)
    if before is not None:
        _set_rates(optimizer, before)
    if Current.training:
        return
    cleared.stepped(optimizer)
    margins.stepped(optimizer)
    made = _Loop.steps[id(optimizer)] = _Loop.steps.get(id(optimizer), 0) + 1
    journal.write("step", edge="end", step=made, loop=True)
    if made == 1:
        journal.reached("optimizer")
        journal.write("training", trainer="a custom loop", world=1, steps=settings().steps, number=1)
    if made >= moved.wanted(made):
        loop_inventory.forget()
        moved.compare_of(optimizer)
        _trained(made)
        raise RehearsalOver(_OVER)


@journal.shielded
def _trained(made: int) -> None:
    """A loop is over: what its own script goes on from is resumed from in a second start."""
    written = [] if settings().resume else saved.for_a_second_start()
    journal.write("trained", step=made, saved=written, loop=True)
    if settings().resume:
        journal.reached("resume")
    elif not written:
        journal.left_out("save", "loop")

"""The inventory of a loop that nobody handed over, by the hook that torch calls before every optimizer's step.

At the first step the model is looked for once among the objects of the process: the module that holds most of what the
optimizer changes. The variables of the loop are not read, for Python before 3.13 would keep them alive. From then on a
hook of the model and that of the optimizer are on, for the second step or a few more; then none is.
https://docs.pytorch.org/docs/stable/generated/torch.optim.optimizer.register_optimizer_step_pre_hook.html

A compiled model is left alone, for a hook would compile it anew. A trainer's, an engine's or a watched loop has an
inventory of its own. The values of the first step are read from the device once, before the second step is applied.

Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import Any, Callable, ClassVar, Optional

from doctor.monitors.guard.shield import shielded

#: a module of the guard that only a trainer's callback, an engine or `doctor.watch` imports
_WATCHES = "doctor.monitors.guard.guard"


class _Taken:
    waiting: ClassVar[Any] = None
    undo: ClassVar[list[Callable[[], Any]]] = []


def attach(module: Any) -> None:
    """Wait for the first step of any optimizer; `module` is torch.optim.optimizer."""
    register = getattr(module, "register_optimizer_step_pre_hook", None)
    rank = os.environ.get("RANK", "0")
    if register is not None and rank == "0" and "DOCTOR_REHEARSAL" not in os.environ:
        _Taken.waiting = register(_first)


def _first(optimizer: Any, *_: Any) -> None:
    """The first step of the process is about to be made."""
    waiting, _Taken.waiting = _Taken.waiting, None
    if waiting is not None:
        waiting.remove()
        _begin(optimizer)


@shielded
def _begin(optimizer: Any) -> None:
    if _WATCHES in sys.modules or not hasattr(optimizer, "register_step_pre_hook"):
        return
    model = _model_of(optimizer)
    if model is None or _is_compiled(model):
        return
    from doctor.monitors.guard.guard import Guard
    from doctor.monitors.guard.loop_inventory import of_guard

    guard = Guard(rules=())
    inventory = of_guard(guard, model, None)
    if inventory.done:
        guard.close()
        return

    def stepping(*_: Any) -> None:
        inventory.stepping((optimizer,))
        if inventory.done:
            _over()

    def called(_module: Any, args: Any, kwargs: Any) -> None:
        if model.training:
            inventory.called(args, kwargs)

    _Taken.undo = [
        model.register_forward_pre_hook(called, with_kwargs=True).remove,
        optimizer.register_step_pre_hook(stepping).remove,
        inventory.close,
        guard.close,
    ]


@shielded
def _over() -> None:
    """Take off everything that is still on."""
    undo, _Taken.undo = _Taken.undo, []
    for each in undo:
        each()


def _model_of(optimizer: Any) -> Optional[Any]:
    """The module that holds most of an optimizer's parameters; of equal ones the outermost."""
    torch: Any = sys.modules["torch"]
    held = {id(each) for group in optimizer.param_groups for each in group["params"]}
    best, most = None, (0, 0)
    for module in [each for each in gc.get_objects() if issubclass(type(each), torch.nn.Module)]:
        number = sum(id(each) in held for each in module.parameters())
        if number and (number, count := sum(1 for _ in module.modules())) > most:
            best, most = module, (number, count)
    return best


def _is_compiled(model: Any) -> bool:
    return any(
        type(each).__name__ == "OptimizedModule" or getattr(each, "_compiled_call_impl", None) is not None
        for each in model.modules()
    )

"""The inventory of a loop in a rehearsal that nobody watches: of the first module with weights whose forward trains.

`torch.nn.Module.__call__` is another one until then, and the library's own from that call on. What is wrong is judged
from the folder when the rehearsal is over.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import Any, Callable, ClassVar, Optional

from doctor.monitors.guard.loop_inventory import LoopInventory
from doctor.monitors.rehearse import journal
from doctor.run.folder import RunDir


class _Taken:
    inventory: ClassVar[Optional[LoopInventory]] = None
    #: the optimizer whose first step is looked at, by identity
    first: ClassVar[Optional[int]] = None
    undo: ClassVar[Optional[Callable[[], None]]] = None


def attach(module: Any, wanted: Callable[[], bool]) -> None:
    """Wait for the first forward that trains, and let it be where it is not wanted: a trainer has an inventory."""
    owner = module.Module
    original = owner.__call__

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _trains(self):
            owner.__call__ = original
            if wanted():
                _begin(self, args, kwargs)
        return original(self, *args, **kwargs)

    owner.__call__ = call
    _Taken.undo = functools.partial(setattr, owner, "__call__", original)


@journal.shielded
def _trains(module: Any) -> bool:
    """Whether a module has weights that train, and gradients are wanted."""
    if not module.training:
        return False
    torch: Any = sys.modules["torch"]
    return bool(torch.is_grad_enabled()) and any(each.requires_grad for each in module.parameters())


@journal.shielded
def _begin(module: Any, args: Any, kwargs: Any) -> None:
    run = RunDir.of_environment() if int(os.environ.get("RANK") or 0) == 0 else None
    _Taken.inventory = LoopInventory(run, module, world_size=int(os.environ.get("WORLD_SIZE") or 1))
    if not _Taken.inventory.done:
        _Taken.inventory.called(args, kwargs)


@journal.shielded
def stepping(optimizer: Any, *, of_trainer: bool) -> None:
    """An optimizer is about to step: a trainer's takes an inventory of its own."""
    taken = _Taken.inventory
    if of_trainer:
        forget()
    elif taken is not None and not taken.done:
        _Taken.first = id(optimizer) if _Taken.first is None else _Taken.first
        if id(optimizer) == _Taken.first:
            taken.stepping(() if taken.by_engine else (optimizer,))


def forget() -> None:
    """Look at nothing more: what was seen so far is kept."""
    if _Taken.undo is not None:
        _Taken.undo()
    if _Taken.inventory is not None:
        _Taken.inventory.close()
    _Taken.inventory = _Taken.first = _Taken.undo = None

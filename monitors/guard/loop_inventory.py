"""The inventory of a loop that no trainer drives: what its first step trains, and whether the optimizer holds it.

The batch is what the first forward that trains is given. It is read right behind the number that the guard itself reads
in that step: by then the device has nothing left to do, so that nobody waits for it. Hooks note which gradients came,
in the first step only (see `gradients`). Whether the labels are the model's own affair is told by the gradient that
arrives at the loss which the model computed; a loop that computes another one leaves it aside.
https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html

Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Callable, Optional

from doctor.catalogue.finding import Finding
from doctor.checks.numerics.trains_other_than_asked import of_inventory
from doctor.monitors.guard.first_step import (
    SCHEMA,
    active,
    adapters_of,
    ending,
    groups_of,
    kept_of,
    moves_labels,
    of_batch,
    of_parameters,
    write,
)
from doctor.monitors.guard.gradients import Gradients
from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.policy import Policy
from doctor.monitors.guard.shield import shielded
from doctor.monitors.guard.veto import parameters
from doctor.run.folder import RunDir

TRAINER = "a custom loop"
#: what an engine of DeepSpeed has, and no module of anybody else's
ENGINE = ("skipped_steps", "global_steps", "optimizer", "backward", "module")
#: steps in which the same tensors must have no gradient: a loop of several tasks uses other parts in each
_STEPS, _LEAST = 8, 2
#: wrappers around wrappers, and those whose model is in `module`
_DEEPEST, _AROUND = 3, {"DataParallel", "DistributedDataParallel", "FullyShardedDataParallel", "DeepSpeedEngine"}


class LoopInventory:
    """The inventory of one loop, by the process of rank 0.

    Args:
        run: the folder that it is kept in; None where there is none, or another rank keeps it.
        model: None where nobody handed it over: then there is no inventory.
        tokenizer: of the model, or None.
        world_size: how many processes the run has.
        alarm: told what is wrong; None where the folder is judged later.

    """

    def __init__(
        self, run: Optional[RunDir], model: Any, tokenizer: Any = None, *, world_size: int = 1,
        alarm: Optional[Callable[[Finding], Any]] = None,
    ) -> None:  # fmt: skip
        self._run, self._model, self._tokenizer = run, model, tokenizer
        self._world_size, self._alarm = world_size, alarm
        self._optimizers: Sequence[Any] = ()
        self._said: set[str] = set()
        self._handles: list[Any] = []
        self._gradients = Gradients()
        self._batch: dict[str, Any] = {}
        self._data: dict[str, Any] = {}
        self._missing: set[str] = set()
        self._forwards = self._steps = 0
        self._begun = self._own_loss = False
        #: whether there is nothing more to look at
        self.done = run is None or model is None

    @property
    def by_engine(self) -> bool:
        """Whether the model is an engine of DeepSpeed, whose optimizer holds parts and copies of its own."""
        return all(hasattr(self._model, name) for name in ENGINE)

    @shielded
    def called(self, args: Any, kwargs: Any) -> None:
        """A forward that trains begins; looked at once."""
        torch: Any = sys.modules["torch"]
        if _compiles(torch) or not torch.is_grad_enabled():
            return
        self._forwards += 1
        if self._begun:
            return
        self._begin()
        self._data["arguments"] = {"world_size": self._world_size, "autocast": _autocast(torch, self._model)}
        inputs = _inputs(args, kwargs)
        self._batch = kept_of(inputs)
        if "labels" in self._batch and "shift_labels" not in inputs:
            self._handles.append(self._model.register_forward_hook(self._computed))

    def _begin(self) -> None:
        """Note every gradient from now on, until the step is made."""
        self._begun = True
        self._gradients.watch(self._model.named_parameters())

    @shielded
    def _computed(self, _module: Any, _args: Any, output: Any) -> None:
        """The first forward is over: be told if the loss that it computed is the one that trains."""
        loss = output.get("loss") if isinstance(output, Mapping) else getattr(output, "loss", None)
        if self._forwards == 1 and loss is not None and loss.requires_grad:
            self._handles.append(loss.register_hook(self._flowed))

    def _flowed(self, _gradient: Any) -> None:
        self._own_loss = True

    @shielded
    def stepping(self, optimizers: Sequence[Any] = ()) -> None:
        """The gradients of a step are complete, and the run has just read a number of its own from the device.

        Args:
            optimizers: torch's own, the first of them about to step; none where an engine holds the gradients and
                `.grad` tells nothing.

        """
        self._optimizers = optimizers
        if not self._begun:  # its parts are called by other names than the model itself: from the next step on
            self._begin()
            return
        self._steps += 1
        if self._steps == 1:
            self._first_step()
        elif not self._optimizers or self._without() != self._missing:
            self.done = True  # what has none changes from step to step
        elif self._steps >= _STEPS:
            self._settle()

    def _first_step(self) -> None:
        named = list(self._model.named_parameters())
        held = {id(each) for optimizer in self._optimizers for each in parameters(optimizer)}
        trains = [name for name, each in named if each.requires_grad and (id(each) in held or not held)]
        if not trains:  # the optimizer holds copies, or what is no part of this model
            trains = [name for name, each in named if each.requires_grad]
        batch, self._batch, came = self._batch, {}, self._gradients.names
        if not self._own_loss:
            batch.pop("labels", None)
        inner = _inner(self._model)
        seen = of_batch(batch, self._tokenizer, ending(self._tokenizer, inner))
        self._data.update(
            schema=SCHEMA, trainer=TRAINER, **of_parameters(named), **self._of_optimizers(), model=type(inner).__name__,
            attention=str(getattr(getattr(inner, "config", None), "_attn_implementation", None)),
            adapters=adapters_of(inner), active_adapters=active(inner), reference=None,
            with_gradient=len(came), came=groups_of(sorted(came)), zero_gradient=groups_of(self._gradients.zero()),
            batch=seen,
            shifts=self._own_loss and moves_labels(inner), settled=False,
        )  # fmt: skip
        self._data.update(groups=groups_of(trains), tensors=len(trains))
        self._data.setdefault("arguments", {})["forwards"] = self._forwards
        self._off()
        self._missing = self._without() if self._optimizers else {each for each in trains if each not in came}
        self._data["without_gradient"] = groups_of(sorted(self._missing))
        self._tell()
        self.done = not self._missing or not self._optimizers

    def _of_optimizers(self) -> dict[str, Any]:
        """Rates and kinds, and whether the first of them, which is about to step, holds what got a gradient."""
        if not self._optimizers:
            return {}
        first = parameters(self._optimizers[0])
        touched = {id(each) for name, each in self._model.named_parameters() if name in self._gradients.names}
        return {
            "optimizer": ", ".join(type(each).__name__ for each in self._optimizers),
            "rates": [_number(group.get("lr")) for each in self._optimizers for group in each.param_groups][:16],
            "held": len(first), "held_with_gradient": sum(each.grad is not None for each in first),
            "held_touched": sum(id(each) in touched for each in first),
        }  # fmt: skip

    def _without(self) -> set[str]:
        """The tensors of the first optimizer that have no gradient now."""
        held = {id(each) for each in parameters(self._optimizers[0])}
        named = self._model.named_parameters()
        return {name for name, each in named if each.requires_grad and id(each) in held and each.grad is None}

    def _settle(self) -> None:
        """The same tensors had no gradient in all steps that were looked at."""
        self.done, self._data["settled"] = True, True
        self._tell()

    def _tell(self) -> None:
        assert self._run is not None  # noqa: S101 - for the type checker
        write(self._data, self._run)
        if self._alarm is None:
            return
        for finding in of_inventory(self._data):
            headline = finding.words().headline
            if headline not in self._said:
                self._said.add(headline)
                self._alarm(finding)

    def _off(self) -> None:
        self._gradients.off()
        while self._handles:
            self._handles.pop().remove()

    @shielded
    def close(self) -> None:
        """Take off what is still there; a loop of few steps has shown what it will."""
        self._off()
        self._batch = {}
        if not self.done and self._steps >= _LEAST:
            self._settle()
        self.done = True


def of_guard(guard: Guard, model: Any, tokenizer: Any) -> LoopInventory:
    """The inventory of a loop that a guard looks on."""
    run = guard.run if guard.rank == 0 else None

    def alarm(finding: Finding) -> None:
        guard.alarm(finding, Policy.WARN)

    return LoopInventory(run, model, tokenizer, world_size=guard.world_size, alarm=alarm)


def _inputs(args: Any, kwargs: Any) -> dict[str, Any]:
    """What a model is called with, by name: its keywords, a batch handed over whole, or the ids alone."""
    first = args[0] if args else None
    if isinstance(first, Mapping):
        return {**first, **kwargs}
    whole = getattr(first, "is_floating_point", None)
    return {"input_ids": first, **kwargs} if whole is not None and not whole() else dict(kwargs)


def _inner(model: Any) -> Any:
    """The model below what spreads or compiles it."""
    for _ in range(_DEEPEST):
        names = {each.__name__ for each in type(model).__mro__}
        inside = "_orig_mod" if "OptimizedModule" in names else "module" if names & _AROUND else None
        model = model if inside is None else getattr(model, inside)
    return model


def _compiles(torch: Any) -> bool:
    asked = getattr(getattr(torch, "compiler", None), "is_compiling", None)
    return asked is not None and bool(asked())


def _autocast(torch: Any, model: Any) -> Optional[str]:
    """The precision that operations are cast to here; None where nothing is cast, or torch does not tell."""
    with suppress(Exception):  # torch before 2.4 asks for each kind of device by another name
        device = next(model.parameters()).device.type
        if torch.is_autocast_enabled(device):
            return str(torch.get_autocast_dtype(device)).rpartition(".")[2]
    return None


def _number(rate: Any) -> Optional[float]:
    """A learning rate; one that is a tensor would have to be read from its device."""
    return float(rate) if isinstance(rate, (int, float)) else None

"""Gradients of a loop that are clipped before they are whole: the step uses others than those that were clipped.

Clipping changes the gradients that are there when it is called.
https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html

Nothing is said of a bound that only measures the norm, nor where weights move between the two (SAM).
"""

from __future__ import annotations

import functools
from types import GeneratorType
from typing import Any, ClassVar, NamedTuple, Optional

from doctor.monitors.rehearse import journal

#: steps that must be alike
_STEPS = 2
#: a norm that no gradient is to reach: the call only measures
_MEASURES = 1e5
_FUNCTIONS = ("clip_grad_norm_", "clip_grad_value_")


class _Clipped(NamedTuple):
    """A parameter whose gradient was clipped: its version, the gradient and the version of that, behind the call."""

    parameter: Any
    moved: int
    gradient: Any
    version: int


class _Loop:
    optimizers: ClassVar[set[int]] = set()
    last: ClassVar[Optional[_Clipped]] = None
    backwards: ClassVar[int] = 0
    #: of each step: whether its gradients are others than those clipped; None where nothing was clipped
    steps: ClassVar[list[Optional[bool]]] = []


def attach(module: Any) -> None:
    """Look at what clips gradients: `module` is torch.nn.utils.clip_grad, before its functions get other names."""
    for name in _FUNCTIONS:
        original = getattr(module, name, None)
        if original is not None:
            setattr(module, name, _watched(original))


def _watched(original: Any) -> Any:
    @functools.wraps(original)
    def watched(parameters: Any, *args: Any, **kwargs: Any) -> Any:
        if type(parameters) is GeneratorType:  # what is read once, as `model.parameters()`, is kept for both
            parameters = [*parameters]
        result = original(parameters, *args, **kwargs)
        _clipped(parameters, next(iter((*args, *kwargs.values())), None))
        return result

    return watched


@journal.shielded
def _clipped(parameters: Any, bound: Any) -> None:
    """Gradients were clipped."""
    if len(_Loop.steps) >= _STEPS or not float(bound) < _MEASURES:
        return
    held = [each for each in ([parameters] if hasattr(parameters, "grad") else parameters) if each.requires_grad]
    one = next((each for each in held if each.grad is not None), held[0] if held else None)
    if one is not None:
        _Loop.last = _Clipped(one, _version(one), one.grad, _version(one.grad))
        _Loop.backwards = 0


def _version(tensor: Any) -> int:
    """How often a tensor was changed in place."""
    return -1 if tensor is None else int(tensor._version)  # noqa: SLF001 - torch has no other name for it


@journal.shielded
def backward() -> None:
    """A backward pass is about to begin."""
    _Loop.backwards += 1


@journal.shielded
def stepping(optimizer: Any) -> None:
    """A step is about to be made; at the last one that is looked at, tell."""
    if len(_Loop.steps) >= _STEPS:
        return
    _Loop.optimizers.add(id(optimizer))
    last, _Loop.last = _Loop.last, None
    _Loop.steps.append(None if last is None else _is_other(last, optimizer))
    if len(_Loop.steps) == _STEPS and len(_Loop.optimizers) == 1:
        journal.write("clipping", steps=_Loop.steps)


def _is_other(last: _Clipped, optimizer: Any) -> bool:
    """Whether a backward pass has changed the clipped gradient, which this step uses, while no weight moved."""
    own = last.parameter
    if not _Loop.backwards or _version(own) != last.moved or own.grad is None:
        return False
    used = any(each is own for group in optimizer.param_groups for each in group["params"])
    return used and (own.grad is not last.gradient or _version(own.grad) != last.version)

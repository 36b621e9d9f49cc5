"""Gradients of a loop that are thrown away before the step, and gradients that stay from one step to the next.

https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html

Several optimizers, and one that moves its weights between two backward passes (SAM), clear for reasons of their own:
of these nothing is said.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar, Optional

from doctor.monitors.rehearse import journal

#: steps that must be alike
_STEPS = 2


class _Loop:
    optimizers: ClassVar[set[int]] = set()
    backwards: ClassVar[int] = 0
    cleared: ClassVar[int] = 0
    version: ClassVar[int] = -1
    #: of each step: (backward passes, those of them whose gradients were cleared)
    steps: ClassVar[list[tuple[int, int]]] = []
    #: a parameter and its gradient as the last step left them; None once they were cleared
    left: ClassVar[Optional[tuple[Any, Any, int]]] = None
    kept: ClassVar[int] = 0


def attach(owner: Any) -> None:
    """Look at what clears gradients: `owner` is torch.optim.Optimizer or torch.nn.Module, if there is one."""
    original = getattr(owner, "zero_grad", None)
    if original is None:
        return

    @functools.wraps(original)
    def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        _clearing(self)
        return original(self, *args, **kwargs)

    owner.zero_grad = watched


def _held(optimizer: Any) -> Any:
    return (each for group in optimizer.param_groups for each in group["params"])


@journal.shielded
def _clearing(owner: Any) -> None:
    """The gradients of an optimizer or of a module are about to be cleared."""
    parameters = list(_held(owner) if hasattr(owner, "param_groups") else owner.parameters())
    own = {id(each) for each in parameters}
    if _Loop.left is not None and id(_Loop.left[0]) in own:
        _Loop.left = None
    with_gradient = [each for each in parameters if each.grad is not None]
    if not _Loop.backwards or not any(bool(each.grad.any()) for each in with_gradient):
        return
    version = sum(map(_version, parameters))
    _Loop.cleared = _Loop.backwards  # whatever came before it is lost, however seldom it is cleared
    _Loop.version = version if _Loop.version in (-1, version) else -2


@journal.shielded
def backward() -> None:
    """A backward pass is about to begin."""
    _Loop.backwards += 1
    if _Loop.left is not None and not _as_left():
        _Loop.left = None


def _version(tensor: Any) -> int:
    """How often a tensor was changed in place."""
    return int(tensor._version)  # noqa: SLF001 - torch has no other name for it


def _as_left() -> bool:
    """Whether the gradient that the last step used is still what it was."""
    assert _Loop.left is not None  # noqa: S101 - for the type checker
    parameter, gradient, version = _Loop.left
    return parameter.grad is gradient and _version(gradient) == version


@journal.shielded
def stepping(optimizer: Any) -> None:
    """A step is about to be made."""
    _Loop.optimizers.add(id(optimizer))
    parameters = list(_held(optimizer))
    moved = _Loop.cleared and sum(map(_version, parameters)) != _Loop.version
    _Loop.steps.append((_Loop.backwards, 0 if moved else _Loop.cleared))
    left, _Loop.left = _Loop.left, None
    if left is not None and left[0].grad is left[1] and any(each is left[0] for each in parameters):
        _Loop.kept += 1
    _Loop.backwards = _Loop.cleared = 0
    _Loop.version = -1


@journal.shielded
def stepped(optimizer: Any) -> None:
    """A step was made; at the last one that is looked at, tell."""
    if len(_Loop.steps) < _STEPS:
        used = next((each for each in _held(optimizer) if each.grad is not None and bool(each.grad.any())), None)
        _Loop.left = None if used is None else (used, used.grad, _version(used.grad))
    elif len(_Loop.steps) == _STEPS and len(_Loop.optimizers) == 1:
        # a step that is handed a closure computes and clears inside
        before = all(backwards for backwards, _ in _Loop.steps)
        journal.write("clearing", steps=_Loop.steps, kept=_Loop.kept if before else 0)

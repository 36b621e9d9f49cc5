"""Losses of torch that are given something else than what they take: probabilities for their logarithms, or logits.

Both sides are looked at: the input, which is trained, and the target.

https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.kl_div.html (`input` in log space)
https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.nll_loss.html (log probabilities)
https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.cross_entropy.html (unnormalized logits)
https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.binary_cross_entropy_with_logits.html
"""

from __future__ import annotations

import functools
from typing import Any, Callable, ClassVar

from doctor.monitors.rehearse import journal
from doctor.monitors.rehearse.relations import margins
from doctor.monitors.rehearse.settings import settings

#: calls of a function that are looked at
_CALLS = 4
#: what rounding leaves above 0 of a logarithm of 1, and beside 1 of a sum of probabilities
_ROUNDED = 1e-3


#: nodes of a graph that give a tensor another shape, and how many of them may follow one another
_SHAPES = ("Squeeze", "Unsqueeze", "View", "UnsafeView", "Reshape", "Select", "Slice", "Alias", "ToCopy", "Expand")
_DEEPEST = 5


#: place of `log_target` among the arguments of `kl_div`
_LOG_TARGET = 5


class _Calls:
    made: ClassVar[dict[str, int]] = {}


def attach(module: Any) -> None:
    """Look at the first calls; `module` is torch.nn.functional."""
    if not settings().tiny:  # what is compared takes memory that is measured
        return
    margins.attach(module)
    for name, judge in _TAKES.items():
        setattr(module, name, _looked_at(getattr(module, name), name, judge))


def _looked_at(original: Any, name: str, judge: Callable[[Any], str]) -> Any:
    @functools.wraps(original)
    def loss(*args: Any, **kwargs: Any) -> Any:
        if _Calls.made.get(name, 0) < _CALLS:
            _look(name, judge, kwargs.get("input", args[0] if args else None))
            _look_at_target(name, args, kwargs)
        return original(*args, **kwargs)

    return loss


@journal.shielded
def _look(name: str, judge: Callable[[Any], str], given: Any) -> None:
    if not getattr(given, "requires_grad", False) or given.ndim == 0 or not given.numel():
        return
    _Calls.made[name] = _Calls.made.get(name, 0) + 1
    wrong = judge(given)
    if wrong:
        journal.once("contract", name, function=name, given=wrong)


@journal.shielded
def _look_at_target(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    target: Any = kwargs.get("target", args[1] if len(args) > 1 else None)
    own: Any = kwargs.get("input", args[0] if args else None)
    if name not in _TARGETS or not getattr(own, "requires_grad", False) or getattr(target, "shape", None) != own.shape:
        return
    if target.is_floating_point() and target.numel():
        log = bool(kwargs.get("log_target", args[_LOG_TARGET] if len(args) > _LOG_TARGET else False))
        wrong = _TARGETS[name](target.detach(), log)
        if wrong:
            journal.once("contract", f"{name} target", function=name, given=wrong, target=True, log=log)


def _divergence_from(target: Any, log: bool) -> str:
    """`kl_div` takes probabilities, and with `log_target` their logarithms."""
    if log:
        return _positive(target)
    return "values_below_0" if bool((target < -_ROUNDED).any()) else ""


def _shares(target: Any, _: bool) -> str:
    """Targets of the size of the input are probabilities."""
    return "values_below_0" if bool((target < -_ROUNDED).any()) else ""


def _positive(given: Any) -> str:
    """A logarithm of a probability is never above 0."""
    if not bool((given > _ROUNDED).any()):
        return ""
    return "probabilities" if _is_softmax(given, -1) else "values_above_0"


def _normalised(given: Any) -> str:
    """Logits that already sum to 1 were normalised before."""
    return "probabilities" if given.ndim > 1 and _is_softmax(given, 1) else ""


def _sigmoid(given: Any) -> str:
    node = given.grad_fn
    for _ in range(_DEEPEST):  # what only gives it another shape
        if not type(node).__name__.startswith(_SHAPES):
            break
        node = node.next_functions[0][0]
    return "probabilities" if type(node).__name__ == "SigmoidBackward0" else ""


def _is_softmax(given: Any, axis: int) -> bool:
    given = given.detach().float()
    if bool((given < 0).any()) or given.shape[axis] < 2:  # one class alone says nothing
        return False
    return bool(((given.sum(axis) - 1).abs() <= _ROUNDED).all())


_TAKES: dict[str, Callable[[Any], str]] = {
    "kl_div": _positive,
    "nll_loss": _positive,
    "cross_entropy": _normalised,
    "binary_cross_entropy_with_logits": _sigmoid,
}
#: what the target is judged by, where it is not a class
_TARGETS: dict[str, Callable[[Any, bool], str]] = {
    "kl_div": _divergence_from,
    "cross_entropy": _shares,
    "binary_cross_entropy_with_logits": _shares,
}

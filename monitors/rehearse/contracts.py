"""Losses of torch that are given something else than what they take: probabilities for their logarithms, or logits.

https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.kl_div.html (`input` in log space)
https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.nll_loss.html (log probabilities)
https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.cross_entropy.html (unnormalized logits)
https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.binary_cross_entropy_with_logits.html
"""

from __future__ import annotations

import functools
from typing import Any, Callable, ClassVar

from doctor.monitors.rehearse import journal
from doctor.monitors.rehearse.settings import settings

#: calls of a function that are looked at
_CALLS = 4
#: what rounding leaves above 0 of a logarithm of 1, and beside 1 of a sum of probabilities
_ROUNDED = 1e-3


#: nodes of a graph that give a tensor another shape, and how many of them may follow one another
_SHAPES = ("Squeeze", "Unsqueeze", "View", "UnsafeView", "Reshape", "Select", "Slice", "Alias", "ToCopy", "Expand")
_DEEPEST = 5


class _Calls:
    made: ClassVar[dict[str, int]] = {}


def attach(module: Any) -> None:
    """Look at the first calls; `module` is torch.nn.functional."""
    if not settings().tiny:  # what is compared takes memory that is measured
        return
    for name, judge in _TAKES.items():
        setattr(module, name, _looked_at(getattr(module, name), name, judge))


def _looked_at(original: Any, name: str, judge: Callable[[Any], str]) -> Any:
    @functools.wraps(original)
    def loss(*args: Any, **kwargs: Any) -> Any:
        if _Calls.made.get(name, 0) < _CALLS:
            _look(name, judge, kwargs.get("input", args[0] if args else None))
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

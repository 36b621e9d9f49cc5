"""Margins of pairs that are exactly 0 after the policy has been changed: it is compared with itself.

A loss of pairs is a log-sigmoid of the margin by which the policy prefers one answer more than its reference does. It
is 0 before the first step, when both are the same model, and not behind it.
https://arxiv.org/abs/2305.18290 (equation 7)
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar

from doctor.monitors.rehearse import journal

_LEAST_PAIRS = 2


class Given:
    """What the log-sigmoid was last given with a gradient: as many margins as there are pairs."""

    pairs: ClassVar[int] = 0


class _Seen:
    #: steps of a loop that had a rate
    steps: ClassVar[int] = 0
    #: calls behind them, and those of them whose margins are all 0
    calls: ClassVar[int] = 0
    zero: ClassVar[int] = 0


def attach(module: Any) -> None:
    """Look at what the log-sigmoid is given; `module` is torch.nn.functional."""
    original = module.logsigmoid

    @functools.wraps(original)
    def loss(*args: Any, **kwargs: Any) -> Any:
        _look(kwargs.get("input", args[0] if args else None))
        return original(*args, **kwargs)

    module.logsigmoid = loss


@journal.shielded
def _look(given: Any) -> None:
    if not getattr(given, "requires_grad", False) or given.numel() < _LEAST_PAIRS:
        return
    Given.pairs = int(given.numel())
    if _Seen.steps:
        _Seen.calls += 1
        _Seen.zero += not bool(given.detach().any())
        if _Seen.zero == _Seen.calls:
            journal.once("margins", "margins", pairs=int(given.numel()), steps=_Seen.steps)


@journal.shielded
def stepped(optimizer: Any) -> None:
    """A step was made."""
    _Seen.steps += any(float(each.get("lr") or 0) > 0 for each in optimizer.param_groups)

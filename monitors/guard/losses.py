"""The losses of the micro-batches of one step, and what they hold where the scaler or the engine has skipped it.

A gradient that overflows may be the fault of the loss scale; the loss itself is not scaled, and tells the two apart.

Runs inside the patient: Python 3.9, its own torch.
"""

from __future__ import annotations

from typing import Any, Callable

from doctor.monitors.guard.finite import worst
from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.shield import shielded

#: losses of one step that are kept
MOST = 1024


class Losses:
    """References to losses without their graph; they are read only when something is wrong.

    Args:
        guard: its ranks agree on what any of them holds.

    """

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self.kept: list[Any] = []

    @shielded
    def keep(self, *losses: Any) -> None:
        """Note losses of a micro-batch; what is no tensor is left out."""
        for each in losses:
            if hasattr(each, "detach") and len(self.kept) < MOST:
                self.kept.append(each.detach())

    def forget(self) -> None:
        """A new step begins."""
        self.kept = []

    def made_of(self, original: Callable[[], Any]) -> Callable[[], Any]:
        """A forward that gives the last loss of the step, where one was kept, rather than the model's output."""
        losses = self.kept

        def loss() -> Any:
            output = original()
            return losses[-1] if losses else output

        return loss

    @shielded
    def worst(self, *, together: bool) -> int:
        """FINITE, INF or NAN, the worst on any rank; `together`: all ranks are here, for all have skipped the step."""
        mine = worst(self.kept)
        told = self._guard.group.strongest(mine) if together else None
        return mine if told is None else told

    def hook_failed(self) -> None:
        """A hook is switched off: take no part in decisions of all ranks any more."""
        self._guard.hook_failed()

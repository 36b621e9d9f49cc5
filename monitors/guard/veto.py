"""The last place before weights change: the hooks of torch's own optimizer, which can still drop the gradients."""

from __future__ import annotations

from typing import Any, Callable, Optional

from doctor.monitors.guard.shield import shielded

#: wrappers around wrappers: Accelerate's optimizer, DeepSpeed's, torch's
DEEPEST = 5


class Veto:
    """Asks before each step of an optimizer whether it may be applied; one that may not finds no gradients.

    An optimizer leaves weights without a gradient alone. The gradients are put back behind the step, for DeepSpeed's
    offload keeps using the same buffers; whoever made them clears them as after any step.

    Args:
        optimizer: a `torch.optim.Optimizer` (torch 2.0 and newer has the hooks).
        refuse: gives True where the step must not be applied.
        behind: called when the step is over.

    """

    def __init__(
        self, optimizer: Any, refuse: Callable[[Any], bool], behind: Optional[Callable[[Any], None]] = None
    ) -> None:
        self._refuse, self._behind = refuse, behind
        self._held: list[tuple[Any, Any]] = []
        self._handles = (
            optimizer.register_step_pre_hook(self._before),
            optimizer.register_step_post_hook(self._after),
        )

    @shielded
    def _before(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        self._held = []
        if self._refuse(optimizer):
            self._held = [(each, each.grad) for each in parameters(optimizer) if each.grad is not None]
            for each, _ in self._held:
                each.grad = None

    @shielded
    def _after(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        for each, gradient in self._held:
            if each.grad is None:
                each.grad = gradient
        self._held = []
        if self._behind is not None:
            self._behind(optimizer)

    def hook_failed(self) -> None:
        """Let whoever is asked know that nobody asks any more."""
        failed = getattr(getattr(self._refuse, "__self__", None), "hook_failed", None)
        if failed is not None:
            failed()

    def close(self) -> None:
        """Take the hooks off."""
        for handle in self._handles:
            handle.remove()


def parameters(optimizer: Any) -> list[Any]:
    """All that an optimizer changes."""
    return [each for group in optimizer.param_groups for each in group["params"]]


def innermost(optimizer: Any) -> Optional[Any]:
    """Torch's optimizer below the wrappers of Accelerate and DeepSpeed; None where there is none with hooks."""
    found = None
    for _ in range(DEEPEST):
        if optimizer is None:
            break
        if hasattr(optimizer, "_optimizer_step_pre_hooks") and hasattr(optimizer, "register_step_pre_hook"):
            found = optimizer
        optimizer = getattr(optimizer, "optimizer", None)
    return found

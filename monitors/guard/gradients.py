"""Which parameters get a gradient in a first step, and which of these gradients are zero everywhere.

Under ZeRO-2 and 3 `.grad` is None for every healthy parameter, so that only the accumulation itself tells:
https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_post_accumulate_grad_hook.html
The largest value of a gradient stays on its device until somebody reads there anyway.

Runs inside the patient: Python 3.9, its own torch.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from doctor.monitors.guard.shield import shielded


class Gradients:
    """Hooks on the parameters that train, and what they have seen."""

    def __init__(self) -> None:
        self._handles: list[Any] = []
        self._largest: dict[str, Any] = {}
        #: names of the parameters that got one
        self.names: set[str] = set()
        #: whether there were hooks at all: torch before 2.1 has none
        self.hooked = False

    @property
    def watching(self) -> bool:
        """Whether the hooks are still on."""
        return bool(self._handles)

    def watch(self, parameters: Iterable[tuple[str, Any]]) -> None:
        """Note every gradient from now on."""
        for name, each in parameters:
            register = getattr(each, "register_post_accumulate_grad_hook", None)
            if each.requires_grad and register is not None:
                self._handles.append(register(functools.partial(self._accumulated, name)))
                self.hooked = True

    def _accumulated(self, name: str, parameter: Any) -> None:
        self.names.add(name)
        self._keep(name, parameter.grad)

    @shielded
    def _keep(self, name: str, gradient: Any) -> None:
        """Keep its largest value where it is; of one in parts what this rank holds, for no other rank comes here."""
        gradient = gradient.to_local() if hasattr(gradient, "to_local") else gradient
        if gradient is not None and gradient.numel() and not gradient.is_sparse:
            torch: Any = sys.modules["torch"]
            self._largest[name] = torch.linalg.vector_norm(gradient.detach(), float("inf"))

    def off(self) -> None:
        """Take the hooks off."""
        while self._handles:
            self._handles.pop().remove()

    def zero(self) -> list[str]:
        """Names of those that are zero everywhere; read from the devices, once."""
        by_device: dict[Any, dict[str, Any]] = {}
        for name, each in self._largest.items():
            by_device.setdefault(each.device, {})[name] = each.float()
        self._largest = {}
        found: list[str] = []
        torch: Any = sys.modules["torch"]
        for kept in by_device.values():
            with suppress(RuntimeError):  # a device that has failed says so to the run itself
                values = torch.stack(list(kept.values())).tolist()
                found += [name for name, value in zip(kept, values) if value == 0]  # noqa: B905 - Python 3.9
        return sorted(found)

"""The norm with which a plain loop clips its gradients: torch computes it of all of them, so nobody need look again.

`torch.nn.utils.clip_grad_norm_` hands it to a function of its own module, which is looked up there whenever it is
called, however the loop has imported the first one (torch 2.6 and newer; an older one is not seen to clip):
https://github.com/pytorch/pytorch/blob/v2.6.0/torch/nn/utils/clip_grad.py

Runs inside the patient: Python 3.9, its own torch.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from operator import is_
from typing import Any, Optional

from doctor.monitors.guard.shield import shielded

#: what applies the norm, in torch.nn.utils.clip_grad
APPLIES = "_clip_grads_with_norm_"


class Clipping:
    """Keeps the last norm, and whose it is. One that hooks stand in the way of at the end keeps nothing any more."""

    def __init__(self) -> None:
        self._kept: Optional[tuple[list[Any], Any]] = None
        self._undo: Optional[tuple[Any, Any, Any]] = None
        self._attach()

    @shielded
    def _attach(self) -> None:
        from torch.nn.utils import clip_grad

        original = getattr(clip_grad, APPLIES, None)
        if original is None:
            return

        @functools.wraps(original)
        def applied(parameters: Any, max_norm: Any, total_norm: Any, *args: Any, **kwargs: Any) -> Any:
            self._keep(parameters, total_norm)
            return original(parameters, max_norm, total_norm, *args, **kwargs)

        setattr(clip_grad, APPLIES, applied)
        self._undo = (clip_grad, original, applied)

    @shielded
    def _keep(self, parameters: Any, norm: Any) -> None:
        if self._undo is not None and isinstance(parameters, list):
            self._kept = (parameters, norm)

    def forget(self) -> None:
        """A new forward or a new step begins: gradients that come now are not in the norm."""
        self._kept = None

    def norm_of(self, parameters: Sequence[Any]) -> Any:
        """The norm that was clipped with, where it is of all these parameters; of several ranks this one's part."""
        if self._kept is None or not _holds(self._kept[0], parameters):
            return None
        norm = self._kept[1]
        return norm.to_local() if hasattr(norm, "to_local") else norm

    @shielded
    def close(self) -> None:
        """Put torch's own function back, unless somebody has put another one around ours."""
        if self._undo is not None:
            module, original, ours = self._undo
            self._undo = self._kept = None
            if getattr(module, APPLIES, None) is ours:
                setattr(module, APPLIES, original)


def _holds(clipped: Sequence[Any], parameters: Sequence[Any]) -> bool:
    """Whether all of the parameters were clipped: compared as objects, for tensors compare their values."""
    if len(clipped) == len(parameters) and all(map(is_, clipped, parameters)):
        return True
    return set(map(id, parameters)) <= set(map(id, clipped))

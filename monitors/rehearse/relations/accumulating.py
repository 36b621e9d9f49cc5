"""Steps that are made in the middle of what Accelerate accumulates: by an optimizer that it has not prepared.

A prepared optimizer leaves a step out while `sync_gradients` is False, so that torch's own step is never come to.
https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/optimizer.py
https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/state.py (`GradientState`)
"""

from __future__ import annotations

import sys
from typing import Any, Optional

from doctor.monitors.rehearse import journal

_STATE = "accelerate.state"


@journal.shielded
def stepping(optimizer: Any) -> None:
    """An optimizer of a loop is about to step."""
    number = _parts()
    if number is not None:
        journal.once("early_step", "early_step", optimizer=type(optimizer).__name__, parts=number)


def _parts() -> Optional[int]:
    """How many micro-batches are to be one step, where one of them is under way that is not the last; else None."""
    state: Any = getattr(sys.modules.get(_STATE), "GradientState", None)
    shared = getattr(state, "_shared_state", None) or {}
    number = (shared.get("plugin_kwargs") or {}).get("num_steps")
    whole = shared.get("sync_gradients", True)
    return number if whole is False and isinstance(number, int) and number > 1 else None

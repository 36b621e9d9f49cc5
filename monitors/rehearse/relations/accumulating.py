"""How a loop's step is made of parts, by Accelerate or an engine of DeepSpeed; both divide the loss by their number.

A step in the middle of what Accelerate accumulates is made by an optimizer that it has not prepared.

A prepared optimizer leaves a step out while `sync_gradients` is False, so that torch's own step is never come to.
https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/optimizer.py
https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/state.py (`GradientState`)
https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/accelerator.py (`backward`)
https://www.deepspeed.ai/training/#gradient-averaging (`engine.backward`)
"""

from __future__ import annotations

import gc
import sys
from typing import Any, Optional

from doctor.monitors.rehearse import journal

_STATE = "accelerate.state"
_ENGINE = "deepspeed.runtime.engine"


@journal.shielded
def stepping(optimizer: Any) -> None:
    """An optimizer of a loop is about to step."""
    number = _parts()
    if number is not None:
        journal.once("early_step", "early_step", optimizer=type(optimizer).__name__, parts=number)


def _parts() -> Optional[int]:
    """How many micro-batches are to be one step, where one of them is under way that is not the last; else None."""
    shared = _shared()
    number = (shared.get("plugin_kwargs") or {}).get("num_steps")
    whole = shared.get("sync_gradients", True)
    return number if whole is False and isinstance(number, int) and number > 1 else None


def _shared() -> dict[str, Any]:
    state: Any = getattr(sys.modules.get(_STATE), "GradientState", None)
    return getattr(state, "_shared_state", None) or {}


def divides() -> int:
    """By how many parts of a step a loss is divided by what the loop hands it to; 1 where nothing does."""
    engines = getattr(sys.modules.get(_ENGINE), "DeepSpeedEngine", None)
    if engines is not None:
        # by its class alone: what else is asked of an object may be answered by code of its own
        found = [each for each in gc.get_objects() if issubclass(type(each), engines)]
        number = found[0].gradient_accumulation_steps() if len(found) == 1 else 1
    else:
        number = (_shared().get("plugin_kwargs") or {}).get("num_steps")
    return number if isinstance(number, int) and number > 1 else 1

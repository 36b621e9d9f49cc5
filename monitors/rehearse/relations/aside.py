"""Whether a save, an evaluation or what is logged leaves the trained model as it was: nothing of it is to change there.

A callback that exports merged weights, or switches an adapter off for a moment, may not undo it: the steps that follow
then train nothing, or something else. PEFT's layers say whether they are merged.
https://github.com/huggingface/peft/blob/v0.18.0/src/peft/tuners/tuners_utils.py (`BaseTunerLayer.merged`)
"""

from __future__ import annotations

import functools
from typing import Any, Optional

from doctor.monitors.rehearse import journal


class _State:
    """What a model is like now: merged and switched-off adapters, frozen weights, their dtypes and devices."""

    def __init__(self, model: Any) -> None:
        modules = [(name, each) for name, each in model.named_modules() if hasattr(type(each), "merged")]
        weights = list(model.named_parameters())
        self.merged = {name for name, each in modules if each.merged}
        self.disabled = {name for name, each in modules if getattr(each, "disable_adapters", False) is True}
        self.frozen = {name for name, each in weights if not each.requires_grad}
        self.dtypes = {name: str(each.dtype) for name, each in weights}
        self.devices = {name: each.device.type for name, each in weights}

    def changed(self, before: _State) -> Optional[dict[str, Any]]:
        """The first kind of change since then, and what it is of."""
        for kind in ("merged", "disabled", "frozen"):
            new = getattr(self, kind) - getattr(before, kind)
            if new:
                return {"change": kind, "count": len(new), "first": min(new)}
        for kind in ("dtypes", "devices"):
            one, other = getattr(before, kind), getattr(self, kind)
            new = {name for name in one if other.get(name, one[name]) != one[name]}
            if new:
                return {"change": kind, "count": len(new), "first": min(new)}
        return None


def watch(trainer: Any) -> None:
    """Stand around the method of a trainer that logs, saves and evaluates behind a step, with all its callbacks."""
    original = getattr(trainer, "_maybe_log_save_evaluate", None)
    if original is None:
        return

    @functools.wraps(original)
    def watched(*args: Any, **kwargs: Any) -> Any:
        before = _state(trainer)
        result = original(*args, **kwargs)
        _tell(trainer, before)
        return result

    trainer._maybe_log_save_evaluate = watched  # noqa: SLF001 - the one place where all of them are called


@journal.shielded
def _state(trainer: Any) -> Optional[_State]:
    model = getattr(trainer, "model", None)
    return None if model is None else _State(model)


@journal.shielded
def _tell(trainer: Any, before: Optional[_State]) -> None:
    found = None if before is None else _State(trainer.model).changed(before)
    if found is not None:
        journal.once("aside", "aside", **found)

"""The live loss scale, whoever holds it: DeepSpeed's engine or optimizer, torch's GradScaler, Accelerate's wrappers.

Read by what an object has, not by its version. Where the numbers are, by version:

- ZeRO 1 to 3: `optimizer.loss_scaler.cur_scale`, `.min_scale`, `.dynamic`
  (https://github.com/deepspeedai/DeepSpeed/blob/v0.19.8/deepspeed/runtime/fp16/loss_scaler.py)
- ZeRO 0 in fp16: `optimizer.cur_scale` up to 0.18.5, `optimizer.loss_scale_config.cur_scale` since
  (https://github.com/deepspeedai/DeepSpeed/blob/v0.19.8/deepspeed/runtime/fp16/unfused_optimizer.py)
- `engine.loss_scale()` is the configured value (0 for dynamic) and no reading at all
- `GradScaler.get_scale()` waits for the device: ask where the trainer waits too
  (https://github.com/pytorch/pytorch/blob/v2.13.0/torch/amp/grad_scaler.py)

Runs inside the patient: Python 3.9, and nothing but the patient's own objects.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

#: wrappers around wrappers: Accelerate's optimizer, DeepSpeed's, torch's
DEEPEST = 5


class Reading(NamedTuple):
    """The scale as it stands, after a step.

    Args:
        scale: the dynamic loss scale; None where none is used (bf16, fp32, a fixed scale).
        minimum: below which it is not lowered; None where it has none (torch halves without end) or tells none.
        skipped_steps: steps that the engine has skipped since its beginning; None where nobody counts.
        overflow: whether the last step was skipped for its gradients; None where it is not told.
        source: whose numbers these are, for a quotation.

    """

    scale: Optional[float]
    minimum: Optional[float]
    skipped_steps: Optional[int]
    overflow: Optional[bool]
    source: str


def read_scale(owner: Any) -> Optional[Reading]:
    """The reading of a DeepSpeed engine or optimizer, a GradScaler, an Accelerator or one of its optimizers.

    Returns:
        None where the object neither scales nor skips: it is none of these, or a GradScaler that is switched off.

    """
    if callable(getattr(owner, "get_scale", None)):
        return _of_grad_scaler(owner)
    wrapped = getattr(owner, "deepspeed_engine_wrapped", None)
    if wrapped is not None:
        owner = wrapped.engine
    elif getattr(owner, "scaler", None) is not None:
        return _with_overflow(_of_grad_scaler(owner.scaler), getattr(owner, "step_was_skipped", None))
    engine = owner if hasattr(owner, "skipped_steps") else None
    optimizer = _scaling(owner if engine is None else getattr(engine, "optimizer", None))
    if optimizer is None:
        return None
    dynamic, scale, minimum = _of_deepspeed(optimizer)
    overflow = getattr(optimizer, "overflow", None)
    return Reading(
        scale if dynamic else None,
        minimum if dynamic else None,
        None if engine is None else int(engine.skipped_steps),
        None if overflow is None else bool(overflow),
        type(optimizer).__name__,
    )


def _of_grad_scaler(scaler: Any) -> Optional[Reading]:
    if not scaler.is_enabled():
        return None
    return Reading(float(scaler.get_scale()), None, None, None, type(scaler).__name__)


def _with_overflow(reading: Optional[Reading], skipped: Optional[bool]) -> Optional[Reading]:
    return reading if reading is None or skipped is None else reading._replace(overflow=bool(skipped))


def _scaling(optimizer: Any) -> Any:
    """The DeepSpeed optimizer that scales or skips, below the wrappers; None where there is none."""
    for _ in range(DEEPEST):
        if optimizer is None or hasattr(optimizer, "loss_scale") or "overflow" in getattr(optimizer, "__dict__", {}):
            return optimizer
        optimizer = getattr(optimizer, "optimizer", None)
    return None


def _of_deepspeed(optimizer: Any) -> tuple[bool, Optional[float], Optional[float]]:
    """Whether the scale is dynamic, the scale, and its minimum."""
    scaler = getattr(optimizer, "loss_scaler", None)  # ZeRO
    config = getattr(optimizer, "loss_scale_config", None)  # ZeRO 0 since 0.18.6
    scale = getattr(optimizer, "loss_scale", None)
    holder = scaler if scaler is not None else config if config is not None else optimizer
    dynamic = getattr(holder, "dynamic", getattr(holder, "dynamic_loss_scale", False))
    minimum = getattr(holder, "min_scale", getattr(holder, "min_loss_scale", None))
    return (
        bool(dynamic) and scale is not None,
        None if scale is None else float(scale),
        None if minimum is None else float(minimum),
    )

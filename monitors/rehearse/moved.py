"""Whether an update moved any weight: samples of every trainable parameter before the first and after the last step."""

from __future__ import annotations

from typing import Any, ClassVar, Optional

from doctor.monitors.rehearse import journal
from doctor.monitors.rehearse.settings import settings

_VALUES = 256
#: steps that are made at most behind the usual ones until one has a rate
_MORE = 3


class _Before:
    samples: ClassVar[dict[str, Any]] = {}
    #: names whose values had moved when they were last remembered anew
    moved: ClassVar[set[str]] = set()
    #: the largest rate that a step was made with; None where no step told it
    rate: ClassVar[Optional[float]] = None


def _sample(parameter: Any) -> Any:
    local = getattr(parameter, "ds_tensor", None)  # what this rank holds under ZeRO-3
    data = (parameter if local is None else local).detach()
    data = data.to_local() if hasattr(data, "to_local") else data
    flat = data.reshape(-1)
    step = max(1, flat.numel() // _VALUES)
    return flat[::step][:_VALUES].float().cpu().clone()


def _model(trainer: Any, model: Any) -> Any:
    return model if model is not None else getattr(trainer, "model", None)


@journal.shielded
def remember(trainer: Any, model: Any) -> None:
    """Keep samples of the parameters: of those that train, with learning rate 0 of all."""
    wanted = _model(trainer, model).named_parameters()
    _Before.samples = {name: _sample(each) for name, each in wanted if each.requires_grad or settings().null}


def so_far(trainer: Any, model: Any) -> None:
    """Keep which parameters have moved already, before they are remembered anew."""
    now = dict(_model(trainer, model).named_parameters())
    _Before.moved |= {name for name, before in _Before.samples.items() if name in now and _differs(now[name], before)}


def _differs(parameter: Any, before: Any) -> bool:
    after = _sample(parameter)
    return after.shape != before.shape or not bool((after == before).all())


@journal.shielded
def compare(trainer: Any, model: Any) -> None:
    """Say how many of them are other numbers now."""
    if not _Before.samples:
        return
    rates = [each.get("lr") for each in getattr(trainer.optimizer, "param_groups", [])]
    now = dict(_model(trainer, model).named_parameters())
    _tell(now, rates, skipped=_skipped(trainer))


def _tell(now: dict[str, Any], rates: list[Any], *, skipped: bool) -> None:
    still: list[str] = []
    moved: list[str] = []
    for name, before in _Before.samples.items():
        if name not in now:
            continue
        if not before.numel():
            continue
        (moved if name in _Before.moved or _differs(now[name], before) else still).append(name)
    journal.write(
        "moved", moved=len(moved), still=len(still), examples=moved[:5], unmoved=still[:20],
        rates=[float(each) for each in rates if each is not None], used=_Before.rate, skipped=skipped,
    )  # fmt: skip


def wanted(made: int) -> int:
    """Steps to be made: some more where none of those so far had a rate, as in a warm-up that rises late.

    DeepSpeed's logarithmic one has 0 twice:
    https://github.com/deepspeedai/DeepSpeed/blob/v0.19.0/deepspeed/runtime/lr_schedules.py
    """
    steps = settings().steps
    without = made >= steps and _Before.rate == 0 and not settings().null
    return steps + _MORE if without else steps


def used(optimizer: Any) -> None:
    """Remember the rate that a step is made with; whatever optimizer makes it."""
    rates = [float(each["lr"]) for each in optimizer.param_groups if each.get("lr") is not None]
    if rates:
        _Before.rate = max([*rates, _Before.rate or 0.0])


def _held(optimizer: Any) -> dict[str, Any]:
    """The parameters of an optimizer by their place in it."""
    groups = (each["params"] for each in optimizer.param_groups)
    return {f"group {at}, {number}": each for at, params in enumerate(groups) for number, each in enumerate(params)}


def remember_of(optimizer: Any) -> None:
    """Keep samples of what an optimizer of a loop holds, before its first step."""
    _Before.samples = {name: _sample(each) for name, each in _held(optimizer).items()}


@journal.shielded
def compare_of(optimizer: Any) -> None:
    """Say how many of them are other numbers now."""
    if _Before.samples:
        _tell(_held(optimizer), [each.get("lr") for each in optimizer.param_groups], skipped=False)


def _skipped(trainer: Any) -> bool:
    """Whether the last step was left out: the loss scale of fp16 is found by steps that overflow."""
    accelerator = getattr(trainer, "accelerator", None)
    return bool(getattr(accelerator, "optimizer_step_was_skipped", False))

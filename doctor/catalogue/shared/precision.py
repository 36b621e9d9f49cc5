"""The half precision of a run, as DeepSpeed's JSON, the training arguments and the launcher decide it together."""

from __future__ import annotations

from doctor import data
from doctor.base.evidence import Observed
from doctor.catalogue.settings import truth
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.training import Training
from doctor.facts.world import World


def precision(
    training: Training, world: World, deepspeed: DeepspeedConfig | None, trl_version: str
) -> tuple[str, Observed | None] | None:
    """Return "fp16", "bf16" or "no" and the setting that says so; None when it cannot be told.

    A setting of None means a default: TRL's of bf16, or the launcher's.
    """
    for name in ("fp16", "bf16"):
        for setting in _switches(training, deepspeed, name):
            if setting is not None and setting.known and truth(setting.value):
                return name, setting
    if any(setting is not None and not setting.known for name in ("fp16", "bf16") for setting in (training.get(name),)):
        return None
    if training.complete and _bf16_by_default(training, trl_version):
        return "bf16", None
    if world.mixed_precision in {"fp16", "bf16"}:
        return world.mixed_precision, None
    return ("no", None) if training.complete else None


def _switches(training: Training, deepspeed: DeepspeedConfig | None, name: str) -> tuple[Observed | None, ...]:
    """Return the places where a precision can be switched on, DeepSpeed's first: its engine decides."""
    own = deepspeed.settings.get(f"{name}.enabled") if deepspeed is not None else None
    return own, training.get(name)


def _bf16_by_default(training: Training, trl_version: str) -> bool:
    """Tell whether a TRL class switches bf16 on by itself (from 0.19.0, unless fp16 or bf16 is set)."""
    history = data.trl_argument(training.config_class or "", "bf16")
    on = history is not None and history.default_in(trl_version) == "None"
    return on and training.get("bf16") is None and training.get("fp16") is None

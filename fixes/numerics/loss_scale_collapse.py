"""Gives the loss scale DeepSpeed's own room for overflows again."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.numerics.loss_scale_collapse import DEFAULTS, PROBLEM
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.mend.edits import Editor

_NAMES = ("initial_scale_power", "min_loss_scale", "hysteresis")


@fix(PROBLEM)
def loss_scale_collapse(findings: Findings, deepspeed: DeepspeedConfig) -> Plan | None:
    """Settings that leave less room than the defaults go back to them."""
    changed: dict[str, Editor] = {}
    for name in _NAMES:
        setting = deepspeed.settings.get(f"fp16.{name}")
        if setting is None or setting.place is None or not isinstance(setting.value, (int, float)):
            continue
        default = DEFAULTS[name]
        tighter = setting.value > default if name == "min_loss_scale" else setting.value < default
        if tighter:
            editor = changed.setdefault(setting.place.file, Editor(setting.place.file))
            editor.set_value(setting, default)
    if not findings or not changed:
        return None
    return Plan(
        PROBLEM.id,
        Safety.UNSAFE,
        tuple(each.step() for each in changed.values()),
        "More room only delays the end where gradients are not finite for a reason: bf16 where the cards can, a lower "
        "learning rate and `max_grad_norm` of 1 or less remove reasons.",
        "更大的余量只会推迟失败:若梯度非有限另有原因,请在硬件支持时改用 bf16、降低学习率,并将 "
        "`max_grad_norm` 设为 1 或更小。",
    )

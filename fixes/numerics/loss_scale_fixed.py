"""Lets DeepSpeed find the loss scale."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.numerics.loss_scale_fixed import PROBLEM
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.mend.places import edited


@fix(PROBLEM)
def loss_scale_fixed(findings: Findings, deepspeed: DeepspeedConfig) -> Plan | None:
    """0 means dynamic (https://www.deepspeed.ai/docs/config-json/#fp16-training-options)."""
    steps = edited(findings, [deepspeed], lambda editor, setting, _: editor.set_value(setting, 0))
    return Plan(PROBLEM.id, Safety.UNSAFE, steps) if steps else None

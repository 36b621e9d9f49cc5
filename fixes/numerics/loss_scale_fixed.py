"""Lets DeepSpeed find the loss scale."""

from __future__ import annotations

from doctor.checks.numerics.loss_scale_fixed import PROBLEM
from doctor.core.fixes import Findings, fix
from doctor.core.plan import Plan, Safety
from doctor.fixes._places import edited


@fix(PROBLEM)
def loss_scale_fixed(findings: Findings) -> Plan | None:
    """0 means dynamic (https://www.deepspeed.ai/docs/config-json/#fp16-training-options)."""
    steps = edited(findings, lambda editor, place, _: editor.set_value(place, 0))
    return Plan(PROBLEM.id, Safety.UNSAFE, steps) if steps else None

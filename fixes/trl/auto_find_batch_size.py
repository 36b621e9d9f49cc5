"""Turns the search for a batch size off, which GRPO refuses."""

from __future__ import annotations

from doctor.checks.trl.auto_find_batch_size import PROBLEM
from doctor.core.fixes import Findings, fix
from doctor.core.plan import Plan, Safety
from doctor.fixes._places import edited


@fix(PROBLEM)
def auto_find_batch_size(findings: Findings) -> Plan | None:
    """Nothing is lost: with it the run does not start."""
    steps = edited(findings, lambda editor, place, _: editor.set_value(place, False))
    return Plan(PROBLEM.id, Safety.SAFE, steps) if steps else None

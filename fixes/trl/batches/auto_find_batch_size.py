"""Turns the search for a batch size off, which GRPO refuses."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.trl.batches.auto_find_batch_size import PROBLEM
from doctor.facts.training import Training
from doctor.mend.places import edited


@fix(PROBLEM)
def auto_find_batch_size(findings: Findings, training: Training) -> Plan | None:
    """Nothing is lost: with it the run does not start."""
    steps = edited(findings, [training], lambda editor, setting, _: editor.set_value(setting, False))
    return Plan(PROBLEM.id, Safety.SAFE, steps) if steps else None

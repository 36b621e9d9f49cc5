"""Lets NCCL warn only."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.perf.debug_variable_left_on.nccl_debug import PROBLEM
from doctor.facts.environment import Environment
from doctor.facts.training import Training
from doctor.mend.variables import NOTE, NOTE_ZH, changed


@fix(PROBLEM)
def debug_left_on(findings: Findings, environment: Environment, training: Training | None) -> Plan | None:
    """Where a file sets it; what the shell sets is gone with the shell."""
    steps = changed(findings, training, environment, "NCCL_DEBUG", "WARN")
    return Plan(PROBLEM.id, Safety.SAFE, steps, NOTE, NOTE_ZH) if steps else None

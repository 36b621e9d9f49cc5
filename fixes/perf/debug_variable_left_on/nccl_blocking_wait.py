"""Lets NCCL's collectives run beside the CPU again."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.perf.debug_variable_left_on.nccl_blocking_wait import PROBLEM
from doctor.facts.environment import Environment
from doctor.facts.training import Training
from doctor.mend.variables import NOTE, NOTE_ZH, changed


@fix(PROBLEM)
def nccl_blocking_wait(findings: Findings, environment: Environment, training: Training | None) -> Plan | None:
    """Torch reads the variable under two names; the finding says which one counts."""
    if not findings:
        return None
    steps = changed(findings, training, environment, str(findings[0].values["name"]), None)
    return Plan(PROBLEM.id, Safety.SAFE, steps, NOTE, NOTE_ZH) if steps else None

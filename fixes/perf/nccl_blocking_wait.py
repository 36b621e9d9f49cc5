"""Lets NCCL's collectives run beside the CPU again."""

from __future__ import annotations

from doctor.checks.perf.nccl_blocking_wait import PROBLEM
from doctor.core.fixes import Findings, fix
from doctor.core.plan import Plan, Safety
from doctor.facts.environment import Environment
from doctor.fixes._variables import NOTE, NOTE_ZH, changed


@fix(PROBLEM)
def nccl_blocking_wait(findings: Findings, environment: Environment) -> Plan | None:
    """Torch reads the variable under two names; the finding says which one counts."""
    if not findings:
        return None
    steps = changed(findings, environment, str(findings[0].values["name"]), None)
    return Plan(PROBLEM.id, Safety.SAFE, steps, NOTE, NOTE_ZH) if steps else None

"""Lets NCCL warn only."""

from __future__ import annotations

from doctor.checks.nccl.debug_left_on import PROBLEM
from doctor.core.fixes import Findings, fix
from doctor.core.plan import Plan, Safety
from doctor.facts.environment import Environment
from doctor.fixes._variables import NOTE, NOTE_ZH, changed


@fix(PROBLEM)
def debug_left_on(findings: Findings, environment: Environment) -> Plan | None:
    """Where a file sets it; what the shell sets is gone with the shell."""
    steps = changed(findings, environment, "NCCL_DEBUG", "WARN")
    return Plan(PROBLEM.id, Safety.SAFE, steps, NOTE, NOTE_ZH) if steps else None

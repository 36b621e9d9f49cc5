"""Gives torch its cache of GPU memory back."""

from __future__ import annotations

from doctor.checks.perf.cuda_caching_off import PROBLEM, VARIABLE
from doctor.core.fixes import Findings, fix
from doctor.core.plan import Plan, Safety
from doctor.facts.environment import Environment
from doctor.fixes._variables import NOTE, NOTE_ZH, changed


@fix(PROBLEM)
def cuda_caching_off(findings: Findings, environment: Environment) -> Plan | None:
    """Where a file sets it; what the shell sets is gone with the shell."""
    steps = changed(findings, environment, VARIABLE, None)
    return Plan(PROBLEM.id, Safety.SAFE, steps, NOTE, NOTE_ZH) if steps else None

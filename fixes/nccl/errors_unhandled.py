"""Lets torch act on errors of NCCL again."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.nccl.errors_unhandled import PROBLEM
from doctor.facts.environment import Environment
from doctor.facts.training import Training
from doctor.mend.variables import NOTE, NOTE_ZH, changed


@fix(PROBLEM)
def errors_unhandled(findings: Findings, environment: Environment, training: Training | None) -> Plan | None:
    """Without the variable torch does what it does by default: it ends the process."""
    if not findings:
        return None
    steps = changed(findings, training, environment, str(findings[0].values["name"]), None)
    return Plan(PROBLEM.id, Safety.SAFE, steps, NOTE, NOTE_ZH) if steps else None

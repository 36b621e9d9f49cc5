"""Reports to Weights & Biases no more, where nobody is logged in."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan
from doctor.checks.tracking.wandb_without_key import PROBLEM
from doctor.facts.training import Training
from doctor.fixes.tracking._report_to import without


@fix(PROBLEM)
def wandb_without_key(findings: Findings, training: Training) -> Plan | None:
    """Only where a file names it; a key is the user's to give, and is never asked for here."""
    return without(PROBLEM.id, training, ["wandb"]) if findings else None

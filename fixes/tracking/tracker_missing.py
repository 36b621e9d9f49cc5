"""Reports no more to trackers that are not installed."""

from __future__ import annotations

from doctor.checks.tracking.tracker_missing import PROBLEM
from doctor.core.fixes import Findings, fix
from doctor.core.plan import Plan
from doctor.facts.training import Training
from doctor.fixes.tracking._report_to import without


@fix(PROBLEM)
def tracker_missing(findings: Findings, training: Training) -> Plan | None:
    """All of them at once: they stand in one list."""
    return without(PROBLEM.id, training, [str(each.values["name"]) for each in findings])

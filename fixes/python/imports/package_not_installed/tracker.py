"""Reports no more to trackers that are not installed."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan
from doctor.checks.python.imports.package_not_installed.tracker import PROBLEM
from doctor.facts.training import Training
from doctor.fixes.tracking._report_to import without


@fix(PROBLEM)
def tracker_missing(findings: Findings, training: Training) -> Plan | None:
    """All of them at once: they stand in one list."""
    return without(PROBLEM.id, training, [str(each.values["name"]) for each in findings])

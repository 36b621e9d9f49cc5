"""Renames arguments before the release that takes the old name no more."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.trl.arguments.argument_of_another_release.deprecated import PROBLEM
from doctor.facts.training import Training
from doctor.mend.places import edited


@fix(PROBLEM)
def argument_deprecated(findings: Findings, training: Training) -> Plan | None:
    """Only findings that state the line to write: of the others the value would have to change too."""
    same = [each for each in findings if each.commands]
    steps = edited(same, [training], lambda editor, old, finding: editor.rename(old, str(finding.values["new"])))
    return Plan(PROBLEM.id, Safety.SAFE, steps) if steps else None

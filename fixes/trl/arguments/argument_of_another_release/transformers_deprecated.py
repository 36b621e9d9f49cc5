"""Renames arguments before the release of Transformers that takes the old name no more."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.trl.arguments.argument_of_another_release.transformers_deprecated import PROBLEM
from doctor.facts.training import Training
from doctor.mend.places import edited


@fix(PROBLEM)
def argument_deprecated(findings: Findings, training: Training) -> Plan | None:
    """Only where the value means the same under the new name, and the new name is not given too."""
    same = [each for each in findings if each.commands and each.values["new"] not in training.arguments]
    steps = edited(same, [training], lambda editor, old, finding: editor.rename(old, str(finding.values["new"])))
    return Plan(PROBLEM.id, Safety.SAFE, steps) if steps else None

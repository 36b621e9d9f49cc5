"""Renames arguments before the release that takes the old name no more."""

from __future__ import annotations

from doctor.checks.trl.argument_deprecated import PROBLEM
from doctor.core.fixes import Findings, fix
from doctor.core.plan import Plan, Safety
from doctor.fixes._places import edited


@fix(PROBLEM)
def argument_deprecated(findings: Findings) -> Plan | None:
    """Only findings that state the line to write: of the others the value would have to change too."""
    same = [each for each in findings if each.commands]
    steps = edited(same, lambda editor, place, finding: editor.rename(place, str(finding.values["new"])))
    return Plan(PROBLEM.id, Safety.SAFE, steps) if steps else None

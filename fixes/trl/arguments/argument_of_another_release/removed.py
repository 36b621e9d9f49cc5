"""Renames the arguments that have a new name, and takes out those that have none."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Finding
from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.trl.arguments.argument_of_another_release.removed import PROBLEM
from doctor.facts.training import Training
from doctor.mend.edits import Editor
from doctor.mend.places import edited


@fix(PROBLEM)
def argument_removed(findings: Findings, training: Training) -> Plan | None:
    """A renamed argument means what it meant; without a successor, what it asked for is lost."""
    steps = edited(findings, [training], _change)
    if not steps:
        return None
    lost = sorted({f"`{each.values['name']}`" for each in findings if not each.values["new"]})
    if not lost:
        return Plan(PROBLEM.id, Safety.SAFE, steps)
    names = ", ".join(lost)
    return Plan(
        PROBLEM.id,
        Safety.UNSAFE,
        steps,
        f"{names} has no successor: its effect no longer exists.",
        f"{names} 没有替代项:它所要求的行为将不再生效。",
    )


def _change(editor: Editor, setting: Observed, finding: Finding) -> None:
    new = finding.values["new"]
    if new:
        editor.rename(setting, new)
    else:
        editor.remove(setting)

"""Renames the arguments that have a new name, and takes out those that have none."""

from __future__ import annotations

from doctor.checks.trl.argument_removed import PROBLEM
from doctor.core.finding import Finding
from doctor.core.fixes import Findings, fix
from doctor.core.plan import Plan, Safety
from doctor.facts.base import Place
from doctor.fixes._edits import Editor
from doctor.fixes._places import edited


@fix(PROBLEM)
def argument_removed(findings: Findings) -> Plan | None:
    """A renamed argument means what it meant; without a successor, what it asked for is lost."""
    steps = edited(findings, _change)
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
        f"{names} has no successor: what it asked for is not done any more.",
        f"{names} 没有替代项:它所要求的行为将不再生效。",
    )


def _change(editor: Editor, place: Place, finding: Finding) -> None:
    new = finding.values["new"]
    if new:
        editor.rename(place, new)
    else:
        editor.remove(place)

"""Writes the generation batch that TRL would take, or the nearest that holds whole groups."""

from __future__ import annotations

from doctor.checks.trl.generation_batch_floored import PROBLEM
from doctor.core.finding import Finding
from doctor.core.fixes import Findings, fix
from doctor.core.plan import Plan, Safety
from doctor.facts.base import Place
from doctor.fixes._edits import Editor
from doctor.fixes._places import edited


@fix(PROBLEM)
def generation_batch_floored(findings: Findings) -> Plan | None:
    """The finding states the line."""
    steps = edited(findings, _change)
    return Plan(PROBLEM.id, Safety.UNSAFE, steps) if steps else None


def _change(editor: Editor, place: Place, finding: Finding) -> None:
    editor.set_value(place, int(finding.commands[0].partition("=")[2]))

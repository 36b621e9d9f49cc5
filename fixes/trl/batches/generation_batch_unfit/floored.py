"""Writes the generation batch that TRL would take, or the nearest that holds whole groups."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Finding
from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.trl.batches.generation_batch_unfit.floored import PROBLEM
from doctor.facts.training import Training
from doctor.mend.edits import Editor
from doctor.mend.places import edited


@fix(PROBLEM)
def generation_batch_floored(findings: Findings, training: Training) -> Plan | None:
    """The finding states the line."""
    steps = edited(findings, [training], _change)
    return Plan(PROBLEM.id, Safety.UNSAFE, steps) if steps else None


def _change(editor: Editor, setting: Observed, finding: Finding) -> None:
    editor.set_value(setting, int(finding.commands[0].partition("=")[2]))

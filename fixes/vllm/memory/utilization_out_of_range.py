"""Writes vLLM's share of the GPU memory as a share."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Finding
from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.vllm.memory.utilization_out_of_range import PROBLEM
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.mend.edits import Editor
from doctor.mend.places import edited


@fix(PROBLEM)
def utilization_out_of_range(findings: Findings, serving: Serving | None, training: Training | None) -> Plan | None:
    """90 was meant as 90 %; what 1.3 was meant as, only who wrote it knows."""
    percentages = [each for each in findings if each.values["percentage"]]
    steps = edited(percentages, [serving, training], _change)
    return Plan(PROBLEM.id, Safety.UNSAFE, steps) if steps else None


def _change(editor: Editor, setting: Observed, finding: Finding) -> None:
    editor.set_value(setting, float(finding.commands[0].split()[-1]))

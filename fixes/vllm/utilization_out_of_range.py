"""Writes vLLM's share of the GPU memory as a share."""

from __future__ import annotations

from doctor.checks.vllm.utilization_out_of_range import PROBLEM
from doctor.core.finding import Finding
from doctor.core.fixes import Findings, fix
from doctor.core.plan import Plan, Safety
from doctor.facts.base import Place
from doctor.fixes._edits import Editor
from doctor.fixes._places import edited


@fix(PROBLEM)
def utilization_out_of_range(findings: Findings) -> Plan | None:
    """90 was meant as 90 %; of what means nothing, the finding proposes vLLM's default."""
    steps = edited(findings, _change)
    return Plan(PROBLEM.id, Safety.UNSAFE, steps) if steps else None


def _change(editor: Editor, place: Place, finding: Finding) -> None:
    editor.set_value(place, float(finding.commands[0].split()[-1]))

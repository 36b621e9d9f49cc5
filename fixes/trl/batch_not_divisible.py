"""Sets `num_generations` to the nearest number that divides the generation batch."""

from __future__ import annotations

from doctor.checks.trl.batch_not_divisible import PROBLEM
from doctor.core.finding import Finding
from doctor.core.fixes import Findings, fix
from doctor.core.plan import Plan, Safety
from doctor.facts.base import Place
from doctor.facts.training import Training
from doctor.fixes._edits import Editor
from doctor.fixes._places import edited

_WORD = "num_generations="


@fix(PROBLEM)
def batch_not_divisible(findings: Findings, training: Training) -> Plan | None:
    """Only where the number is written in a file, and the batch rule has a solution for it alone."""
    setting = training.get("num_generations")
    if setting is None or setting.place is None or not any(map(_nearest, findings)):
        return None
    steps = edited(findings, _change)
    if not steps:
        return None
    return Plan(
        PROBLEM.id,
        Safety.UNSAFE,
        steps,
        "The size of the groups that advantages are computed over changes; the other values that "
        f"`doctor check` names for {PROBLEM.id} keep it.",
        f"计算优势所用的分组大小会改变;`doctor check` 针对 {PROBLEM.id} 列出的其他取值可保持它不变。",
    )


def _nearest(finding: Finding) -> int | None:
    return next((int(each.removeprefix(_WORD)) for each in finding.commands if each.startswith(_WORD)), None)


def _change(editor: Editor, place: Place, finding: Finding) -> None:
    editor.set_value(place, _nearest(finding))

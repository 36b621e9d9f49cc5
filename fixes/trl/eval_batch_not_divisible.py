"""Makes the evaluation batch hold whole groups."""

from __future__ import annotations

from doctor.checks.trl.eval_batch_not_divisible import PROBLEM
from doctor.core.finding import Finding
from doctor.core.fixes import Findings, fix
from doctor.core.plan import Plan, Safety
from doctor.facts.base import Place
from doctor.facts.training import Training
from doctor.fixes._edits import Editor
from doctor.fixes._places import edited

_WORD = "per_device_eval_batch_size="


@fix(PROBLEM)
def eval_batch_not_divisible(findings: Findings, training: Training) -> Plan | None:
    """The nearest size that fits; where the size is not written, there is no line to change."""
    setting = training.get("per_device_eval_batch_size")
    if setting is None or setting.place is None or not any(map(_size, findings)):
        return None
    steps = edited(findings, _change)
    return Plan(PROBLEM.id, Safety.UNSAFE, steps) if steps else None


def _size(finding: Finding) -> int | None:
    return next((int(each.removeprefix(_WORD)) for each in finding.commands if each.startswith(_WORD)), None)


def _change(editor: Editor, place: Place, finding: Finding) -> None:
    editor.set_value(place, _size(finding))

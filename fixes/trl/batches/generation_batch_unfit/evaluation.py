"""Makes the evaluation batch hold whole groups."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Finding
from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.trl.batches.generation_batch_unfit.evaluation import PROBLEM
from doctor.facts.training import Training
from doctor.mend.edits import Editor
from doctor.mend.places import edited

_WORD = "per_device_eval_batch_size="


@fix(PROBLEM)
def eval_batch_not_divisible(findings: Findings, training: Training) -> Plan | None:
    """The nearest size that fits; where the size is not written, there is no line to change."""
    setting = training.get("per_device_eval_batch_size")
    if setting is None or setting.place is None or not any(map(_size, findings)):
        return None
    steps = edited(findings, [training], _change)
    return Plan(PROBLEM.id, Safety.UNSAFE, steps) if steps else None


def _size(finding: Finding) -> int | None:
    return next((int(each.removeprefix(_WORD)) for each in finding.commands if each.startswith(_WORD)), None)


def _change(editor: Editor, setting: Observed, finding: Finding) -> None:
    editor.set_value(setting, _size(finding))

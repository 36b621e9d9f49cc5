"""Keeps bf16 of two precisions, where every GPU can."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.transformers.training.fp16_and_bf16 import PROBLEM
from doctor.facts.gpus import Gpus
from doctor.facts.training import Training
from doctor.fixes.numerics.fp16_for_bf16_model import can_bf16
from doctor.mend.edits import Editor


@fix(PROBLEM)
def fp16_and_bf16(findings: Findings, training: Training, gpus: Gpus) -> Plan | None:
    """Older cards emulate bf16, so there fp16 stays."""
    setting = training.get("fp16" if can_bf16(gpus) else "bf16")
    if not findings or not gpus.gpus or setting is None or setting.place is None:
        return None
    editor = Editor(setting.place.file)
    editor.set_value(setting, False)
    return Plan(PROBLEM.id, Safety.UNSAFE, (editor.step(),))

"""Keeps bf16 of the two precisions in DeepSpeed's configuration, where every GPU can."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.deepspeed.settings.two_precisions import PROBLEM
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.gpus import Gpus
from doctor.fixes.numerics.fp16_for_bf16_model import can_bf16
from doctor.mend.edits import Editor


@fix(PROBLEM)
def two_precisions(findings: Findings, deepspeed: DeepspeedConfig, gpus: Gpus) -> Plan | None:
    """Both on in the file itself; where file and arguments disagree, which was meant is not to be seen."""
    if not findings or "ours" in findings[0].values or not gpus.gpus:
        return None
    setting = deepspeed.settings.get("fp16.enabled" if can_bf16(gpus) else "bf16.enabled")
    if setting is None or setting.place is None:
        return None
    editor = Editor(setting.place.file)
    editor.set_value(setting, False)
    return Plan(PROBLEM.id, Safety.UNSAFE, (editor.step(),))

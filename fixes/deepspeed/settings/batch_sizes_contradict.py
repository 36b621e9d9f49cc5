"""Writes the batch size that micro-batch, accumulation and processes make."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.deepspeed.settings.batch_sizes_contradict import PROBLEM
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.mend.edits import Editor


@fix(PROBLEM)
def batch_sizes_contradict(findings: Findings, deepspeed: DeepspeedConfig) -> Plan | None:
    """The product is what the ranks compute in any case; 0 would be no batch."""
    setting = deepspeed.settings.get("train_batch_size")
    if not findings or setting is None or setting.place is None or not findings[0].values["product"]:
        return None
    editor = Editor(setting.place.file)
    editor.set_value(setting, findings[0].values["product"])
    return Plan(PROBLEM.id, Safety.UNSAFE, (editor.step(),))

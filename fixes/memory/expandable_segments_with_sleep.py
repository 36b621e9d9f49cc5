"""Takes torch's expandable segments out of the allocator's settings, which vLLM's sleep mode cannot share."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.memory.expandable_segments_with_sleep import PROBLEM
from doctor.facts.environment import Environment
from doctor.facts.training import Training
from doctor.mend.places import edited
from doctor.mend.variables import NOTE, NOTE_ZH, changed


@fix(PROBLEM)
def expandable_segments_with_sleep(
    findings: Findings, environment: Environment, training: Training | None
) -> Plan | None:
    """Other settings of the allocator stay."""
    if not findings:
        return None
    variable = str(findings[0].values["variable"])
    written = training.environment_set.get(variable) if training is not None else None
    if written is not None and written.place is not None:
        rest = without_segments(str(written.value))
        steps = edited(findings, [training], lambda editor, setting, _: editor.set_value(setting, rest))
        return Plan(PROBLEM.id, Safety.SAFE, steps) if steps else None
    rest = without_segments(environment.get(variable) or "")
    found = changed([], None, environment, variable, rest or None)
    return Plan(PROBLEM.id, Safety.SAFE, found, NOTE, NOTE_ZH) if found else None


def without_segments(value: str) -> str:
    """The settings without expandable segments: "expandable_segments:True,max_split_size_mb:64" -> "max_split...".

    Format: https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf
    """
    words = [each.strip() for each in value.split(",")]
    return ",".join(each for each in words if each and not each.lower().startswith("expandable_segments:"))

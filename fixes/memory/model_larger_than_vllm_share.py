"""Divides vLLM's copy of the model over more of the GPUs that generate."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.memory.model_larger_than_vllm_share import PROBLEM
from doctor.facts.training import Training
from doctor.mend.places import edited


@fix(PROBLEM)
def model_larger_than_vllm_share(findings: Findings, training: Training | None) -> Plan | None:
    """Only where a file states the size; the share stays, for what is left of the GPU belongs to the trainer."""
    wider = [each for each in findings if each.values["wider"]]
    steps = edited(
        wider, [training], lambda editor, setting, finding: editor.set_value(setting, finding.values["wider"])
    )
    if not steps:
        return None
    return Plan(
        PROBLEM.id, Safety.UNSAFE, steps,
        "Generation becomes one engine over more GPUs instead of one on each: it fits, with fewer tokens per second.",
        "生成将由一个引擎跨多张 GPU 完成,而不是每张 GPU 一个引擎:能够放下,但每秒生成的 token 会减少。",
    )  # fmt: skip

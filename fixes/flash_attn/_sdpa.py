"""Asks for torch's own attention instead."""

from __future__ import annotations

from doctor.catalogue.fix import Findings
from doctor.catalogue.plan import Plan, Safety
from doctor.facts.training import Training
from doctor.mend.places import edited

#: in every torch since 2.0 (https://huggingface.co/docs/transformers/attention_interface)
OWN = "sdpa"


def with_sdpa(problem: str, findings: Findings, training: Training) -> Plan | None:
    """The plan; None where no file asks for the attention."""
    steps = edited(findings, [training], lambda editor, setting, _: editor.set_value(setting, OWN))
    if not steps:
        return None
    return Plan(
        problem,
        Safety.UNSAFE,
        steps,
        "`sdpa` computes the same within rounding; packed or padding-free batches need FlashAttention.",
        "`sdpa` 的计算结果在舍入误差内相同;打包(packing)或无填充的批次需要 FlashAttention。",
    )

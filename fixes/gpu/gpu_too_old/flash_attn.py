"""Asks for torch's own attention where a card is too old for FlashAttention."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan
from doctor.checks.gpu.gpu_too_old.flash_attn import PROBLEM
from doctor.facts.training import Training
from doctor.fixes.flash_attn._sdpa import with_sdpa


@fix(PROBLEM)
def gpu_too_old(findings: Findings, training: Training) -> Plan | None:
    """No other release of flash-attn supports the card."""
    return with_sdpa(PROBLEM.id, findings, training)

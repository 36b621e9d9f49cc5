"""Asks for torch's own attention where a card is too old for FlashAttention."""

from __future__ import annotations

from doctor.checks.flash_attn.gpu_too_old import PROBLEM
from doctor.core.fixes import Findings, fix
from doctor.core.plan import Plan
from doctor.fixes.flash_attn._sdpa import with_sdpa


@fix(PROBLEM)
def gpu_too_old(findings: Findings) -> Plan | None:
    """No other release of flash-attn supports the card."""
    return with_sdpa(PROBLEM.id, findings)

"""Asks for torch's own attention where flash-attn is not installed."""

from __future__ import annotations

from doctor.checks.flash_attn.not_installed import PROBLEM
from doctor.core.fixes import Findings, fix
from doctor.core.plan import Plan
from doctor.fixes.flash_attn._sdpa import with_sdpa


@fix(PROBLEM)
def not_installed(findings: Findings) -> Plan | None:
    """The other remedy, to install it, compiles for long: that is the user's to choose."""
    return with_sdpa(PROBLEM.id, findings)

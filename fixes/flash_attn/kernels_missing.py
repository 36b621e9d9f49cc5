"""Asks for torch's own attention where the `kernels` package is not installed."""

from __future__ import annotations

from doctor.checks.flash_attn.kernels_missing import PROBLEM
from doctor.core.fixes import Findings, fix
from doctor.core.plan import Plan
from doctor.fixes.flash_attn._sdpa import with_sdpa


@fix(PROBLEM)
def kernels_missing(findings: Findings) -> Plan | None:
    """The other remedy is `pip install kernels`."""
    return with_sdpa(PROBLEM.id, findings)

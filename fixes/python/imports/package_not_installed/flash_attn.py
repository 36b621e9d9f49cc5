"""Asks for torch's own attention where flash-attn is not installed."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan
from doctor.checks.python.imports.package_not_installed.flash_attn import PROBLEM
from doctor.facts.training import Training
from doctor.fixes.flash_attn._sdpa import with_sdpa


@fix(PROBLEM)
def not_installed(findings: Findings, training: Training) -> Plan | None:
    """The other remedy, to install it, compiles for long: that is the user's to choose."""
    return with_sdpa(PROBLEM.id, findings, training)

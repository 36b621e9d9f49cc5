"""Asks for torch's own attention where the `kernels` package is not installed."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan
from doctor.checks.python.imports.package_not_installed.kernels import PROBLEM
from doctor.facts.training import Training
from doctor.fixes.flash_attn._sdpa import with_sdpa


@fix(PROBLEM)
def kernels_missing(findings: Findings, training: Training) -> Plan | None:
    """The other remedy is `pip install kernels`."""
    return with_sdpa(PROBLEM.id, findings, training)

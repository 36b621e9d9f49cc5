"""Judges flashinfer-kernel-unfit (VLL097), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
WORKSPACE = TOML["workspace"]
DTYPE = TOML["dtype"]
ABSENT = TOML["absent"]
GROUP = TOML["group"]
GEMM = TOML["gemm"]


def explain(hits: Hits) -> Finding:
    """Tiles that do not fit, a card or grouping without kernels, too small a workspace, or another type."""
    return found(
        PROBLEM,
        hits.choice({"absent": ABSENT, "group": GROUP, "size": WORKSPACE, "tensor": DTYPE, "gemm": GEMM}, LOG_MESSAGE),
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        function=hits.get("function") or "",
        group=hits.get("group") or "",
        size=hits.get("size") or "",
        dtype=hits.get("dtype") or "",
        planned=hits.get("planned") or "",
        gemm=hits.get("gemm") or "",
    )

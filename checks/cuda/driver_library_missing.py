"""Judges driver-library-missing (CUD010), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_ROCM = TOML["log_rocm"]
LOG_MESSAGE_NAME = TOML["log_name"]


def explain(hits: Hits) -> Finding | None:
    """Lines of HIP show an AMD machine."""
    if part := hits.get("part"):
        return found(
            PROBLEM, LOG_MESSAGE_NAME, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, part=part
        )
    needed = [*hits.of(0), *hits.of(1)]
    if not needed:
        return None
    rocm = bool(hits.of(3)) or "is_rocm: True" in hits.context or "rocm" in hits.versions.get("torch", "")
    frames = [frame for hit in needed for frame in hit.frames]
    package = frames[-1].rpartition("site-packages/")[2].partition("/")[0] if frames else hits.get("program") or ""
    return found(
        PROBLEM,
        LOG_MESSAGE_ROCM if rocm else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if not rocm else LIKELY,
        package=package.replace("_", "-") if package and not package.endswith(".py") else "",
    )

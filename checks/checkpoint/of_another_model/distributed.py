"""Judges CKP7555/distributed, a row of of-another-model; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MISSING = TOML["missing"]
SIZES = TOML["sizes"]
STATE = TOML["state"]
STEP = TOML["step"]


def explain(hits: Hits) -> Finding:
    """A name that is missing, or one of another shape."""
    sized = hits.get("sized")
    state = re.search(r"_extra_state\b|^rerun_state_machine", hits.get("key") or "")
    step = re.search(r"^optimizer\.state\.", hits.get("key") or "") and any(
        re.search(r"[\\/]accelerate[\\/]utils[\\/]fsdp_utils\.py:load_fsdp_optimizer", each)
        for each in hits.first.frames
    )
    return found(
        PROBLEM,
        SIZES if sized else STATE if state else STEP if step else MISSING,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        sized=sized or "",
        key=hits.get("key") or "",
    )

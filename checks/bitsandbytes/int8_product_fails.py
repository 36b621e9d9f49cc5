"""Judges bitsandbytes-int8-product-fails (BNB010), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
BEFORE_HOPPER = TOML["before_hopper"]
PLAIN = TOML["plain"]


#: the function of the releases before 0.45.0, which had a layout of their own for each generation of GPUs
_FORMER = "igemmlt"


def explain(hits: Hits) -> Finding:
    """The function that raised it tells whether the release is one that knows no Hopper."""
    former = any(_FORMER in frame for hit in hits for frame in hit.frames[-1:])
    return found(
        PROBLEM, BEFORE_HOPPER if former else PLAIN, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY
    )  # fmt: skip

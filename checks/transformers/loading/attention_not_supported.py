"""Judges attention-implementation-refused (TRF028), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
UNKNOWN = TOML["unknown"]


def explain(hits: Hits) -> Finding | None:
    """Shorten torch's long name."""
    if unknown := hits.get("unknown"):
        names = dict.fromkeys(
            re.findall(r"\b(?:paged\|)?(?:eager|sdpa|flash_attention_\d|flex_attention)\b", hits.get("choices") or "")
        )
        return found(
            PROBLEM, UNKNOWN, where=hits.where(), evidence=hits.evidence(), unknown=unknown,
            choices=", ".join(f"`{each}`" for each in names),
        )  # fmt: skip
    kind = (hits.get("kind") or "").rpartition(" through ")[2]
    kind = "SDPA" if "scaled_dot" in kind else "flex attention" if "flex" in kind else kind
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), kind=kind,
        model=hits.get("model") or "model",
    )  # fmt: skip

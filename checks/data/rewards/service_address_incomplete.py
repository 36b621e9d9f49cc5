"""Judges service-address-incomplete (DAT062), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
HUB = TOML["hub"]
EMPTY = TOML["empty"]
LOG_MESSAGE = TOML["log"]
UNNAMED = TOML["unnamed"]


def explain(hits: Hits) -> Finding:
    """What stands before the first slash tells an address that was never set from one that lacks its scheme."""
    url = hits.get("url")
    if any("huggingface_hub" in frame for hit in hits for frame in hit.frames):
        message = HUB
    elif url is None:
        message = UNNAMED
    else:
        message = EMPTY if url.partition("/")[0] in ("", "None", "null") else LOG_MESSAGE
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if message in (HUB, UNNAMED) else CONFIRMED,
        url=url or "",
    )

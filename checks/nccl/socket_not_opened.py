"""Judges nccl-socket-not-opened (NCC031), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
IN_USE = TOML["in_use"]
NO_ADDRESS = TOML["no_address"]


def explain(hits: Hits) -> Finding:
    """Two refusals of the kernel."""
    message = IN_USE if (hits.get("reason") or "").startswith("Address already") else NO_ADDRESS
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)

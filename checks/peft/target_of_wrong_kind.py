"""Judges lora-target-of-wrong-kind (PFT006), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
SECOND = TOML["second"]


def explain(hits: Hits) -> Finding:
    """A `ModuleDict` is PEFT's own wrapper, no layer of the model."""
    module = hits.get("module")
    message = SECOND if module == "ModuleDict" else LOG_MESSAGE
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, module=module,
    )  # fmt: skip

"""Judges generation-value-refused (TRF055), whose words stand in the TOML beside it."""

from __future__ import annotations

from typing import Any

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
_RANGE = TOML["range"]
_TEMPERATURE = TOML["temperature"]


_RANGES = {
    "top_p": "above 0 and at most 1", "top_k": "a whole number above 0", "min_p": "between 0 and 1",
    "typical_p": "between 0 and 1", "epsilon_cutoff": "between 0 and 1", "eta_cutoff": "between 0 and 1",
    "penalty": "above 0 (it is `repetition_penalty`)",
}  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """A temperature of 0 has a remedy of its own."""
    values: dict[str, Any] = dict(hits.first.groups)
    name = values["name"]
    message = _TEMPERATURE if name == "temperature" else _RANGE
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), range=_RANGES.get(name, "a positive number"),
        **values,
    )  # fmt: skip

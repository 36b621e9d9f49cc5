"""Judges sglang-kernel-not-loaded (VLL086), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """The reason that the loader lists, where the log holds it."""
    library, symbol = hits.get("library"), hits.get("symbol")
    reason = "library" if library else "symbol" if symbol else "plain"
    how = next((words for name, words in TOML.phrases("how").items() if (library or "").startswith(name)), "")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        library=library, reason=TOML.phrase(f"reason.{reason}", library=library), how=how,
    )  # fmt: skip

"""Judges GPU7876/sglang, a row of gpu-too-old; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
TOO_OLD = TOML["too_old"]


def explain(hits: Hits) -> Finding:
    """A back end for other GPUs, or a GPU that is too old for all of it."""
    least = hits.get("least")
    return found(
        PROBLEM, TOO_OLD if least else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        least=f"{least[0]}.{least[1]}" if least else "", backend=f"`{(hits.get('backend') or '').strip()}`",
        gpus=(hits.get("gpus") or "").strip(),
    )  # fmt: skip

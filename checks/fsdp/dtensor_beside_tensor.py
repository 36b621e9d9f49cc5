"""Judges dtensor-beside-tensor (FSD012), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
GENERATION = TOML["generation"]
LOG_MESSAGE = TOML["log"]
PARALLEL = TOML["parallel"]


def explain(hits: Hits) -> Finding:
    """Generation goes past the hooks by its nature, NeMo-RL splits by plans; anything else has several causes."""
    frames = hits.first.frames
    if "DTensorPolicyWorker" in (hits.first.process or "") or any("nemo_rl" in frame for frame in frames):
        message = PARALLEL
    else:
        generating = any(frame.endswith((":generate", ":_generate", ":_sample")) for frame in frames)
        message = GENERATION if generating else LOG_MESSAGE
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        operator=hits.get("operator"),
    )  # fmt: skip

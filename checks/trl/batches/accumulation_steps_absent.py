"""Judges accumulation-steps-absent (TRL051), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
EVALUATION = TOML["evaluation"]


_EVALUATES = (":evaluate", ":_evaluate", ":prediction_step", ":evaluation_loop")


def explain(hits: Hits) -> Finding:
    """An evaluation comes too early; in training it is the age of Transformers."""
    frames = hits.first.frames
    evaluating = any(frame.endswith(_EVALUATES) for frame in frames)
    training = any(frame.endswith(":training_step") for frame in frames)
    return found(
        PROBLEM, EVALUATION if evaluating else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if evaluating or training else LIKELY, trainer=hits.get("trainer"),
        commands=("pip install -U 'trl>=0.28'",) if evaluating else ("pip install -U 'transformers>=4.55'",),
    )  # fmt: skip

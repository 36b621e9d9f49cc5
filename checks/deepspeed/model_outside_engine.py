"""Judges model-outside-deepspeed-engine (DSP021), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
NO_ENGINE = TOML["no_engine"]


#: what stands between the Trainer and the model of a run that has an engine, or calls a second model
_BETWEEN = later(r"deepspeed[\\/]|[\\/]trl[\\/]|[\\/]fsdp[\\/]|:(?:generate|encode\w{0,30})$")
_TRAINS = later(r"trainer\w{0,20}\.py:(?:compute_loss|training_step|_?inner_training_loop|train)$|:run_(?:sft|pt)$")


def explain(hits: Hits) -> Finding:
    """A Trainer that reaches the model without an engine has none; any other caller went past it."""
    frames = hits.first.frames
    alone = any(map(_TRAINS.search, frames)) and not any(map(_BETWEEN.search, frames)) and hits.first.rank is None
    message = NO_ENGINE if alone else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)

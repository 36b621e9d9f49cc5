"""Judges sharded-weight-broadcast (TOR063), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
WHOLE = TOML["whole"]
NEMO = TOML["nemo"]
LOG_MESSAGE = TOML["log"]


#: who wraps a whole model for every GPU
_WRAPS = later(
    r"(?:_sync_module_states|_broadcast_model|_sync_params_and_buffers)$|nn[\\/]parallel[\\/]distributed\.py:"
)
_NEMO = later(r"nemo_rl[\\/]")


def explain(hits: Hits) -> Finding:
    """The frames tell who sent it."""
    frames = hits.first.frames
    if any(_NEMO.search(each) for each in frames):
        message = NEMO
    else:
        message = WHOLE if any(_WRAPS.search(each) for each in frames) else LOG_MESSAGE
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        operator=hits.get("operator"),
    )  # fmt: skip

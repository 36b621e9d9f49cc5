"""Judges bus-error (HST017), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE_FILE = TOML["log_file"]
LOG_MESSAGE = TOML["log"]


_LOADS = later(r"safetensors|weight_loader|load_weights|load_model|load_state_dict|from_pretrained|model_loader")


def explain(hits: Hits) -> Finding:
    """Frames that load weights point at their files; else shared memory is the usual reason."""
    loads = any(_LOADS.search(frame) for hit in hits for frame in hit.frames)
    return found(
        PROBLEM,
        LOG_MESSAGE_FILE if loads else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        commands=("df -h /dev/shm",),
    )

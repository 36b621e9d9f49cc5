"""Judges loss-not-a-tensor (TRF066), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.catalogue.finding import Finding
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)


#: where the loss is divided and sent backward: the innermost frame, since reward functions run below the same ones
_BACKWARD = (
    r"[\\/](?:accelerate[\\/]accelerator\.py:backward"
    r"|transformers[\\/]trainer\.py:(?:training_step|compute_loss|_inner_training_loop))$"
)


def explain(hits: Hits) -> Finding | None:
    """What the first hit's own case says, where nothing deeper raised."""
    if not re.search(_BACKWARD, hits.first.frames[-1]):
        return None
    return TOML.finding(hits)

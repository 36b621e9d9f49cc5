"""Judges adapter-call-unfit (PFT014), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.base.record import replace
from doctor.catalogue.finding import LIKELY, Finding
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)


#: others speak of adapters, too
_LIBRARY = later(r"[\\/](?:peft|transformers|trl|diffusers|unsloth\w*|vllm|sglang|swift|verl|llamafactory)[\\/]")


def explain(hits: Hits) -> Finding | None:
    """Say what the first hit's own case calls for."""
    frames = hits.first.frames
    if frames and not any(_LIBRARY.search(frame) for frame in frames):
        return None
    return replace(TOML.finding(hits), confidence=LIKELY)

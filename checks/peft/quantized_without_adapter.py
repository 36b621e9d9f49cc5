"""Judges quantized-without-adapter (PFT009), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
INTEGERS = TOML["integers"]
LOG_MESSAGE = TOML["log"]


#: who quantizes, or sets the flag on what is quantized
_LIBRARY = later(
    r"[\\/](?:peft|bitsandbytes|transformers|accelerate|trl|unsloth\w*|deepspeed|fsdp|awq|gptqmodel|auto_gptq|llava\w*"
    r"|swift|llamafactory|verl)[\\/]"
)


def explain(hits: Hits) -> Finding | None:
    """The Trainer refuses by its own words; torch only sees integers, which may be a program's own."""
    if hits.get("integers"):
        frames = hits.first.frames
        if frames and not any(_LIBRARY.search(frame) for frame in frames):
            return None
        return found(PROBLEM, INTEGERS, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence())

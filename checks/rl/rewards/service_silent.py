"""Judges service-silent (RLX026), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import Finding
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)


#: clients of public hubs and trackers, whose failures are matters of their own
_OTHERS = later(r"[\\/](?:huggingface_hub|modelscope(?:_hub)?|datasets|wandb|swanlab|mlflow|pip)[\\/]")


def explain(hits: Hits) -> Finding | None:
    """Say what the case of the first hit calls for; nothing where a client of a public hub asked."""
    if any(_OTHERS.search(frame) for hit in hits for frame in hit.frames):
        return None
    return TOML.finding(hits)

"""Judges checkpoint-engine-not-registered (VRL042), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """The module of the engine, imported by hand, tells what is missing."""
    name = (hits.get("name") or "").removesuffix("_ckpt_engine")
    command = f'python -c "import verl.checkpoint_engine.{name}_checkpoint_engine"'
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, commands=(command,),
        name=hits.get("name"), command=command,
    )  # fmt: skip

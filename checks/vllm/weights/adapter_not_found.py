"""Judges adapter-not-found (VLL053), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
IN_MEMORY = TOML["in_memory"]
UNLOADED = TOML["unloaded"]


#: the path that veRL makes up: https://github.com/verl-project/verl/issues/3882
_PLACEHOLDER = "simon_lora_path"


def explain(hits: Hits) -> Finding:
    """A path that a trainer made up is no file that somebody forgot."""
    if unloaded := hits.first.groups.get("unloaded"):
        return found(PROBLEM, UNLOADED, where=hits.where(), evidence=hits.evidence(), name=unloaded.rstrip(".,"))
    path = hits.get("path") or ""
    made_up = _PLACEHOLDER in path
    return found(
        PROBLEM, IN_MEMORY if made_up else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=LIKELY if made_up else CONFIRMED, path=path,
    )  # fmt: skip

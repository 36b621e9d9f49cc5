"""Judges tools-prerequisites (TRL040), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
SCHEMA = TOML["schema"]


def explain(hits: Hits) -> Finding | None:
    """Say which of the prerequisites is missing."""
    if hits.first.groups.get("schema"):
        return found(PROBLEM, SCHEMA, where=hits.where(), evidence=hits.evidence())
    minimum, package = (hits.get("minimum") or "").rstrip("."), hits.get("package")
    template = f"`{package}`" if package else TOML.phrase("template")
    kind = "upgrade" if minimum else "install" if package else "template"
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        needs=f"Transformers {minimum}" if minimum else template,
        fix=TOML.phrase(f"fix.{kind}", minimum=minimum, package=package),
    )

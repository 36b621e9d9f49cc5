"""Judges PYT0301/sglang_too_old, a row of releases-do-not-fit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """The package, the version it has and the one it needs."""
    package, least, got = hits.get("package") or "", (hits.get("least") or "").rstrip("."), hits.get("got")
    command = f'pip install -U "{package.replace("_", "-")}>={least}"'
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), package=package, least=least,
        got=got, command=command, commands=(command,),
    )  # fmt: skip

"""Judges HUB4525/rate_limited, a row of download-fails; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding | None:
    """Other services answer 429 as well: keep to the Hub's hosts where the line names one."""
    hosts = hits.values("host")
    if hosts and not any(host.endswith(("huggingface.co", "hf.co", "hf-mirror.com")) for host in hosts):
        return None
    if not hosts and not any("Hub" in hit.text or "hub" in "".join(hit.frames) for hit in hits):
        return None
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence())

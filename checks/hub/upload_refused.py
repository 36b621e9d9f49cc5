"""Judges upload-refused (HUB019), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_COMMANDS = TOML.commands


_OWNER = later(r"under (?:the|this) namespace .([\w.\-]{1,96}).")


def explain(hits: Hits) -> Finding:
    """Name the repository, or the account or organisation, where a line does."""
    repo = hits.get("repo")
    owner = hits.get("owner") or next((name for hit in hits for name in _OWNER.findall(hit.text)), "")
    target = TOML.phrases("target")["repository" if repo else "owner" if owner else "unknown"]
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), commands=LOG_COMMANDS,
        target=target.filled(repo=repo, owner=owner),
    )  # fmt: skip

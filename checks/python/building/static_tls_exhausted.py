"""Judges static-tls-exhausted (PYT042), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """The library by its name and by the path to load it from."""
    path = _plain(hits.get("path") or "")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        library=path.rpartition("/")[2], path=path, commands=(f"export LD_PRELOAD={path}",),
    )  # fmt: skip


def _plain(path: str) -> str:
    """Without `folder/..` on the way."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and len(parts) > 1:
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)

"""Judges VLL5449/sglang, a row of request-beyond-server; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
TOKENS = TOML["tokens"]
LOOP = TOML["loop"]
ADAPTER = TOML["adapter"]
EMBEDDING = TOML["embedding"]
EMBEDS = TOML["embeds"]


_WORDS = (TOKENS, LOOP, ADAPTER, EMBEDDING, EMBEDS)


def explain(hits: Hits) -> Finding:
    """By the refusal that came first."""
    return found(
        PROBLEM, _WORDS[hits.first.signature], where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        adapter=hits.get("adapter") or "",
    )  # fmt: skip

"""Judges process-group-absent (LCH022), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
PARALLEL = TOML["parallel"]


#: whose parallel_state.py it is, by a part of its path
_OWNERS = (("megatron", "Megatron"), ("sglang", "SGLang"), ("vllm", "vLLM"))


def explain(hits: Hits) -> Finding:
    """Torch's own group, or one of the groups that Megatron and the engines make of it."""
    group = hits.get("group")
    path = hits.first.frames[-1] if hits.first.frames else ""
    return found(
        PROBLEM,
        PARALLEL if group else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        group=(group or "").lower(),
        owner=next((name for part, name in _OWNERS if part in path), ""),
    )

"""Judges CKP7555/megatron, a row of of-another-model; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.shared.numbers import LEAST, meanings, told
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LAYOUT = TOML["layout"]
NO_CHECKPOINT = TOML["no_checkpoint"]
UNEVEN = TOML["uneven"]
SHAPE, ARGUMENT = TOML["shape"], TOML["argument"]


def explain(hits: Hits) -> Finding:
    """Another layout, size or argument, no checkpoint at all, or a torch too old for the layout."""
    message = LAYOUT
    saved, here = (hits.get(name) or "" for name in ("saved", "here"))
    if hits.get("argument"):
        message = ARGUMENT
    elif saved and here and saved.count(",") == here.count(","):
        message = SHAPE
    elif hits.get("torch"):
        message = UNEVEN
    elif hits.of(6):
        message = NO_CHECKPOINT
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        torch=hits.get("torch") or "",
        weight=hits.get("shaped") or "",
        saved=saved,
        here=here,
        sizes=told(
            meanings((int(each) for each in here.split(", ") if each.isdigit() and int(each) >= LEAST), hits.config)
        ),
        argument=hits.get("argument") or "",
        then=hits.get("then") or "",
        now=hits.get("now") or "",
        vocabulary="vocab" in (hits.get("argument") or ""),
    )

"""Judges ray-waits-for-resources (RAY015), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """With what is asked for, and how long it was waited at most."""
    seconds = max(hits.ints("seconds"), default=0)
    gpus = hits.get("gpus")
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        wanted=f"{gpus} GPU" if gpus else _short(hits.get("wanted") or ""),
        seconds=seconds,
    )


def _short(wanted: str) -> str:
    """Total of GPUs and CPUs of all bundles, as `2 GPU, 16 CPU`."""
    totals: dict[str, float] = {}
    for name, amount in re.findall(r"'(GPU|CPU|NPU|TPU)': (\d{1,6}(?:\.\d{1,4})?)", wanted):
        totals[name] = totals.get(name, 0.0) + float(amount)
    return ", ".join(f"{amount:g} {name}" for name, amount in totals.items()) or "a placement group"

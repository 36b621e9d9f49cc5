"""Judges weight-above-bucket (VRL034), whose words stand in the TOML beside it."""

from __future__ import annotations

from math import prod

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


_BYTES = {"torch.float32": 4, "torch.float64": 8, "torch.float8_e4m3fn": 1, "torch.int8": 1, "torch.uint8": 1}
_MEBIBYTE, _STEP = 2**20, 512  # buckets are given in steps that are easy to read


def explain(hits: Hits) -> Finding | None:
    """With the size of the tensor, and the next bucket that holds it."""
    shape, dtype = hits.get("shape"), hits.get("dtype") or ""
    if not shape:
        return None
    size = -(
        -prod(int(each) for each in shape.replace(" ", "").strip(",").split(",")) * _BYTES.get(dtype, 2) // _MEBIBYTE
    )
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        weight=hits.get("weight") or "",
        size=size,
        wanted=-(-size // _STEP) * _STEP,
    )

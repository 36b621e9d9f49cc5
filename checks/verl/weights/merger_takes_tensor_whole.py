"""Judges merger-takes-tensor-whole (VRL028), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
BUFFERS = TOML["buffers"]
ONE_GPU = TOML["one_gpu"]


#: the assertion that the first weight is a DTensor: in a function, in EasyR1's copy at the top of the file
_ASSERTS = later(r"model_merger\.py:(?:convert_fsdp_checkpoints_to_hfmodels|<module>)$")


def explain(hits: Hits) -> Finding | None:
    """Buffers that are whole on each rank, or all tensors of a run on one GPU."""
    buffers = bool(hits.of(0))
    if not buffers and not any(hit.frames and _ASSERTS.search(hit.frames[-1]) for hit in hits):
        return None
    return found(
        PROBLEM,
        BUFFERS if buffers else ONE_GPU,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if buffers else LIKELY,
    )
